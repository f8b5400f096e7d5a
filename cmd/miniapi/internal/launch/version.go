package launch

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// versionFlag is the value of kube-apiserver's flag --version: true, false, or raw, which prints all fields.
type versionFlag string

func (v *versionFlag) String() string { return string(*v) }
func (v *versionFlag) Type() string   { return "version" }

func (v *versionFlag) Set(value string) error {
	if _, err := strconv.ParseBool(value); err != nil && value != "raw" {
		return errors.New("must be true, false or raw")
	}
	*v = versionFlag(value)
	return nil
}

// PrintVersion prints the version in kube-apiserver's form if --version is true or raw. It reports whether it has
// printed.
func (o *Options) PrintVersion(to io.Writer) bool {
	if o.version == "raw" {
		fmt.Fprintf(to, "%#v\n", server.Version())
		return true
	}
	asked, _ := strconv.ParseBool(string(o.version))
	if asked {
		fmt.Fprintf(to, "Kubernetes %s\n", server.Version().GitVersion)
	}
	return asked
}
