package services

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Port names a port of a service. The port 0 stands for all ports.
type Port struct {
	Namespace, Name string
	Port            int32
}

// Addresses maps ports of services to addresses. These addresses take precedence over the Service objects of the
// API. The map is the value of a flag that may be repeated.
type Addresses map[Port]string

// String implements pflag.Value.
func (a Addresses) String() string { return "" }

// Type implements pflag.Value.
func (a Addresses) Type() string { return "NAMESPACE/NAME[:PORT]=HOST:PORT" }

// Set implements pflag.Value.
func (a Addresses) Set(value string) error {
	service, address, found := strings.Cut(value, "=")
	namespace, name, qualified := strings.Cut(service, "/")
	if !found || !qualified {
		return fmt.Errorf("%q must be of the form %s", value, a.Type())
	}
	name, port, hasPort := strings.Cut(name, ":")
	key := Port{Namespace: namespace, Name: name}
	if hasPort {
		number, err := parsePort(port)
		if err != nil {
			return fmt.Errorf("%q must be of the form %s: port of the service: %w", value, a.Type(), err)
		}
		key.Port = number
	}
	if namespace == "" || name == "" {
		return fmt.Errorf("%q must be of the form %s, with a namespace and a name of the service", value, a.Type())
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q must be of the form %s: %w", value, a.Type(), err)
	}
	if _, err := parsePort(port); err != nil || host == "" {
		return fmt.Errorf("%q must be of the form %s: address %q must have a host and a port", value, a.Type(), address)
	}
	if earlier, ok := a[key]; ok && earlier != address {
		return fmt.Errorf("service %s has two addresses, %s and %s: give one of them", service, earlier, address)
	}
	a[key] = address
	return nil
}

func parsePort(text string) (int32, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("port %q: must be a number from 1 to 65535", text)
	}
	return int32(port), nil
}

func (a Addresses) find(namespace, name string, port int32) (string, bool) {
	if address, ok := a[Port{namespace, name, port}]; ok {
		return address, true
	}
	address, ok := a[Port{Namespace: namespace, Name: name}]
	return address, ok
}
