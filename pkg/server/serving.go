package server

import (
	"fmt"
	"net"
	"os"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	netutils "k8s.io/utils/net"
)

// provideServingCertificate gives a server that was not told one a certificate of its
// own: in --cert-dir under kube-apiserver's file names, or else in memory alone.
func (c *Config) provideServingCertificate(serving *genericoptions.SecureServingOptions) error {
	hosts, ips, err := c.servingNames(serving)
	if err != nil {
		return err
	}
	create := func() (keyPair, error) { return c.authority.serving(hosts, ips) }
	if dir := serving.ServerCert.CertDirectory; dir != "" {
		certFile, keyFile, err := servingPairIn(dir, create)
		if err != nil {
			return err
		}
		serving.ServerCert.CertKey.CertFile, serving.ServerCert.CertKey.KeyFile = certFile, keyFile
		return nil
	}
	pair, err := create()
	if err != nil {
		return fmt.Errorf("creating the serving certificate: %w", err)
	}
	serving.ServerCert.GeneratedCert, err = dynamiccertificates.NewStaticCertKeyContent("miniapi's own serving certificate", pair.cert, pair.key)
	return err
}

// servingNames are the names and addresses that clients reach the server by, those
// of the service "kubernetes" included.
func (c *Config) servingNames(serving *genericoptions.SecureServingOptions) ([]string, []net.IP, error) {
	hosts := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	addresses := sets.New("127.0.0.1", "::1")
	serviceIP, err := netutils.GetIndexedIP(c.options.serviceRange[0], 1)
	if err != nil {
		return nil, nil, fmt.Errorf("--service-cluster-ip-range %q: %w", c.options.ServiceClusterIPRange, err)
	}
	addresses.Insert(serviceIP.String())
	for _, ip := range []net.IP{serving.BindAddress, c.options.ServerRun.AdvertiseAddress} {
		if ip != nil && !ip.IsUnspecified() {
			addresses.Insert(ip.String())
		}
	}
	if external := c.options.ServerRun.ExternalHost; external != "" {
		if ip := netutils.ParseIPSloppy(external); ip != nil {
			addresses.Insert(external)
		} else {
			hosts = append(hosts, external)
		}
	}
	var ips []net.IP
	for _, address := range sets.List(addresses) {
		ips = append(ips, netutils.ParseIPSloppy(address))
	}
	return hosts, ips, nil
}

// servingCA is what clients verify the server with: the certificate that it shows,
// whoever signed it, and its own authority.
func (c *Config) servingCA() []byte {
	shown, _ := c.generic.SecureServing.Cert.CurrentCertKeyContent()
	return append(append([]byte{}, shown...), c.authority.pem...)
}
