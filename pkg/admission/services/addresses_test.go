package services

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason, value string
		want                Addresses
		err                 string
	}{
		{name: "all ports", reason: "without a port, the address is for every port", value: "a/b=127.0.0.1:9443",
			want: Addresses{{"a", "b", 0}: "127.0.0.1:9443"}},
		{name: "one port", reason: "a service may have several ports", value: "a/b:443=[::1]:9443",
			want: Addresses{{"a", "b", 443}: "[::1]:9443"}},
		{name: "no namespace", reason: "services are namespaced", value: "b=127.0.0.1:9443", err: "must be of the form NAMESPACE/NAME"},
		{name: "no service", reason: "the address needs the name of a service", value: "127.0.0.1:9443",
			err: "must be of the form NAMESPACE/NAME"},
		{name: "empty namespace", reason: "no service has an empty namespace", value: "/b=127.0.0.1:9443",
			err: "with a namespace and a name of the service"},
		{name: "empty name", reason: "no service has an empty name", value: "a/:443=127.0.0.1:9443",
			err: "with a namespace and a name of the service"},
		{name: "no host", reason: "the plugin can't guess a missing host", value: "a/b=:9443",
			err: `address ":9443" must have a host and a port`},
		{name: "no port number", reason: "connections need a port number", value: "a/b=localhost:0",
			err: `address "localhost:0" must have a host and a port`},
		{name: "service port 0", reason: "0 is not a port", value: "a/b:0=localhost:1", err: `port "0": must be a number from 1 to 65535`},
		{name: "no port to go to", reason: "the plugin can't guess a missing port", value: "a/b=127.0.0.1",
			err: "missing port in address"},
		{name: "port out of range", reason: "ports have 16 bits", value: "a/b:70000=127.0.0.1:1", err: "port of the service"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Addresses{}
			err := got.Set(test.value)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("%s: error %v, want one with %q", test.reason, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", test.reason, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A repeated flag adds its services to the services of the earlier flags.
func TestAddressesAdd(t *testing.T) {
	t.Parallel()
	addresses := Addresses{}
	for _, value := range []string{"a/b=localhost:1", "a/b:443=localhost:2", "a/b=localhost:1"} {
		if err := addresses.Set(value); err != nil {
			t.Fatal(err)
		}
	}
	err := addresses.Set("a/b:443=localhost:3")
	if want := "service a/b:443 has two addresses, localhost:2 and localhost:3: give one of them"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	for _, test := range []struct {
		namespace, name string
		port            int32
		want            string
	}{{"a", "b", 443, "localhost:2"}, {"a", "b", 80, "localhost:1"}, {"a", "c", 443, ""}, {"c", "b", 443, ""}} {
		if got, found := addresses.find(test.namespace, test.name, test.port); got != test.want || found != (test.want != "") {
			t.Errorf("%s/%s:%d is at %q (%t), want %q", test.namespace, test.name, test.port, got, found, test.want)
		}
	}
}
