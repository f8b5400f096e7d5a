package warnings

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// List collects warnings.
type List []string

// At adds a warning that begins with the path of a field.
func (l *List) At(path *field.Path, format string, args ...any) {
	*l = append(*l, path.String()+": "+fmt.Sprintf(format, args...))
}

// Add adds warnings that are complete texts.
func (l *List) Add(warnings ...string) { *l = append(*l, warnings...) }

// IP warns of an address that isn't written in its canonical form.
func (l *List) IP(path *field.Path, address string) {
	l.Add(validation.GetWarningsForIP(path, address)...)
}

// CIDR warns of an address range that isn't written in its canonical form.
func (l *List) CIDR(path *field.Path, cidr string) {
	l.Add(validation.GetWarningsForCIDR(path, cidr)...)
}

// wholeBytes warns of an amount with a fraction of a byte, such as 1500m.
func (l *List) wholeBytes(path *field.Path, q resource.Quantity) {
	if q.MilliValue()%1000 != 0 {
		l.At(path, "fractional byte value %q is invalid, must be an integer", q.String())
	}
}

// PodName warns of a name that can't be a hostname. It is for workloads, because the names of their pods begin with
// the name of the workload.
func (l *List) PodName(name string) {
	l.Hostname("this is used in Pod names and hostnames", name)
}

// Hostname warns of a name that can't be a hostname. The argument "use" is the part of the warning about the use of
// the name.
func (l *List) Hostname(use, name string) {
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		l.At(field.NewPath("metadata", "name"),
			"%s, which can result in surprising behavior; a DNS label is recommended: %v", use, msgs)
	}
}
