package warnings

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// list gathers warnings.
type list []string

// at adds a warning about a field.
func (l *list) at(path *field.Path, format string, args ...any) {
	*l = append(*l, path.String()+": "+fmt.Sprintf(format, args...))
}

func (l *list) add(warnings ...string) { *l = append(*l, warnings...) }

// ip adds what is wrong with the way that an address is written.
func (l *list) ip(path *field.Path, address string) {
	l.add(validation.GetWarningsForIP(path, address)...)
}

// cidr adds what is wrong with the way that a range of addresses is written.
func (l *list) cidr(path *field.Path, cidr string) {
	l.add(validation.GetWarningsForCIDR(path, cidr)...)
}

// wholeBytes warns of amounts such as 1500m, which is one byte and a half.
func (l *list) wholeBytes(path *field.Path, q resource.Quantity) {
	if q.MilliValue()%1000 != 0 {
		l.at(path, "fractional byte value %q is invalid, must be an integer", q.String())
	}
}

// podName warns of a name that pods' names are made of, if it can't be in a hostname.
func (l *list) podName(name string) {
	l.hostname("this is used in Pod names and hostnames", name)
}

func (l *list) hostname(use, name string) {
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		l.at(field.NewPath("metadata", "name"),
			"%s, which can result in surprising behavior; a DNS label is recommended: %v", use, msgs)
	}
}
