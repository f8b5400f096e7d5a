package server

import (
	"net"
	"slices"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

func TestAdvertised(t *testing.T) {
	t.Parallel()
	// What the library says, which kube-apiserver advertises; nil where the machine is alone.
	loopback, any4 := net.IPv4(127, 0, 0, 1), net.IPv4zero
	host, err := utilnet.ResolveBindAddress(loopback)
	if err != nil || host.IsLoopback() || host.To4() == nil {
		host = nil
	}
	address := net.IPv4(192, 0, 2, 1)
	for _, test := range []struct {
		name        string
		options     *Options
		bound, flag net.IP // --bind-address and --advertise-address
		want        net.IP
		reason      string
	}{
		{"serve", NewOptions(), loopback, nil, nil, "only this machine reaches it"},
		{"serve everywhere", NewOptions(), any4, nil, host, "others reach it by the host's address"},
		{"kube-apiserver", NewKubeAPIServerOptions(), loopback, nil, host, "so does kube-apiserver"},
		{"kube-apiserver everywhere", NewKubeAPIServerOptions(), any4, nil, host, "so does kube-apiserver"},
		{"kube-apiserver at an address", NewKubeAPIServerOptions(), address, nil, address, "it is known"},
		{"told one", NewKubeAPIServerOptions(), loopback, address, address, "the flag says so"},
		{"told the loopback", NewKubeAPIServerOptions(), loopback, loopback, nil, "the flag says so, and endpoints can't have it"},
		{"told nothing", NewKubeAPIServerOptions(), loopback, any4, host, "0.0.0.0 is no address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.options.Serving.BindAddress, test.options.ServerRun.AdvertiseAddress = test.bound, test.flag
			completed, err := test.options.Complete()
			if err != nil {
				t.Fatal(err)
			}
			c := &Config{options: completed, generic: &genericapiserver.Config{PublicAddress: test.flag}}
			if test.flag == nil || test.flag.IsUnspecified() {
				c.generic.PublicAddress = publicAddress(test.bound)
			}
			if got := c.advertised(); !got.Equal(test.want) {
				t.Errorf("got %s, want %s: %s", got, test.want, test.reason)
			}
			names, err := c.servingNames(completed.Serving)
			if err != nil {
				t.Fatal(err)
			}
			if test.want != nil && !slices.ContainsFunc(names.IPs, test.want.Equal) {
				t.Errorf("the certificate is for %s, want %s among them: who is told of it must trust it", names.IPs, test.want)
			}
		})
	}
}
