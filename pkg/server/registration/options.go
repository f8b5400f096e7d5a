// Package registration registers an aggregated API server in its cluster: it creates and keeps the APIServices of the
// server's group versions, and the Service that leads to the server.
//
// [New] is the way in. Don't use the package for the APIServices that a server has of its own groups: package aggregation
// keeps those.
package registration

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// The values of Options.Mode.
const (
	Keep      = "keep"
	UntilExit = "until-exit"
)

// Options are the settings of the registration.
type Options struct {
	// Mode is Keep, or UntilExit if the server removes its registration when it stops. If it is empty, the server doesn't
	// register itself.
	Mode string
	// Service is the Service that leads to the server, as NAMESPACE/NAME. The default is named after the group, in the
	// namespace "default". If the cluster has the Service, the server uses it, and doesn't change it.
	Service string
	// Address is the host and the port by which the cluster reaches the server. The default is the address that the server
	// listens on. It isn't used for a Service that the cluster has.
	Address string
}

// Enabled reports whether the server registers itself. A nil Options is allowed.
func (o *Options) Enabled() bool { return o != nil && o.Mode != "" }

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Mode, "register", o.Mode, "`MODE` of the APIServices of the served groups in the cluster of --behind, and of the Service that leads to this server: keep creates and keeps them, until-exit also removes them at exit.")
	fs.Lookup("register").NoOptDefVal = Keep
	fs.StringVar(&o.Service, "register-service", o.Service, "The Service `NAMESPACE/NAME` of --register. The server creates it, unless the cluster has it. By default, it is in the namespace default, and named after the group.")
	fs.StringVar(&o.Address, "register-address", o.Address, "The `HOST:PORT` by which the cluster reaches this server, for the Service of --register. By default, it is the address that the server listens on.")
}

// Validate returns the errors of the options. Each error names its flag.
func (o *Options) Validate(behind bool) []error {
	if o == nil {
		return nil
	}
	var errs []error
	switch o.Mode {
	case "":
		if o.Service != "" || o.Address != "" {
			errs = append(errs, errors.New("--register-service or --register-address: must be given together with --register"))
		}
	case Keep, UntilExit:
		if !behind {
			errs = append(errs, errors.New("--register: must be given together with --behind, which names the cluster"))
		}
	default:
		errs = append(errs, fmt.Errorf("--register %q: must be %s or %s", o.Mode, Keep, UntilExit))
	}
	if namespace, name, found := strings.Cut(o.Service, "/"); o.Service != "" && (!found || namespace == "" || name == "") {
		errs = append(errs, fmt.Errorf("--register-service %q: must be NAMESPACE/NAME", o.Service))
	}
	if o.Address != "" {
		if host, port, err := net.SplitHostPort(o.Address); err != nil || host == "" {
			errs = append(errs, fmt.Errorf("--register-address %q: must be HOST:PORT", o.Address))
		} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			errs = append(errs, fmt.Errorf("--register-address %q: the port must be a number below 65536", o.Address))
		}
	}
	return errs
}

// ServiceFor returns the namespace and the name of the Service for a server that serves a group.
func (o *Options) ServiceFor(group string) (namespace, name string) {
	if o.Service == "" {
		return "default", strings.ReplaceAll(group, ".", "-")
	}
	namespace, name, _ = strings.Cut(o.Service, "/")
	return namespace, name
}
