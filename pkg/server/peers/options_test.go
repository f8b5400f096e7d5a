package peers

import (
	"errors"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		options      Options
		want         []string // parts of the error, or empty for no error
	}{
		{"none", "a server need not have peers", Options{}, nil},
		{"authorities", "the address has a default", Options{CAFile: "ca.crt"}, nil},
		{"address", "peers may pass requests on to this server, even if this server passes no requests on",
			Options{AdvertiseIP: "192.0.2.1", AdvertisePort: "6443"}, nil},
		{"address without a port", "kube-apiserver would ignore the address without an error", Options{AdvertiseIP: "192.0.2.1"},
			[]string{"--peer-advertise-ip", "--peer-advertise-port", "together"}},
		{"port without an address", "kube-apiserver would ignore the port without an error",
			Options{AdvertisePort: "6443"}, []string{"--peer-advertise-ip", "--peer-advertise-port", "together"}},
		{"name", "the server doesn't resolve host names", Options{AdvertiseIP: "localhost", AdvertisePort: "6443"},
			[]string{"--peer-advertise-ip localhost", "IP address"}},
		{"port 0", "no server listens on port 0", Options{AdvertiseIP: "192.0.2.1", AdvertisePort: "0"},
			[]string{"--peer-advertise-port 0", "between 1 and 65535"}},
		{"port too large", "no port has this number", Options{AdvertiseIP: "192.0.2.1", AdvertisePort: "65536"},
			[]string{"--peer-advertise-port 65536", "between 1 and 65535"}},
	} {
		err := errors.Join(test.options.Validate()...)
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: got %v: %s", test.name, err, test.reason)
		}
		for _, part := range test.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error %q doesn't have %q: %s", test.name, err, part, test.reason)
			}
		}
	}
}
