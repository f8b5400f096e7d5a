package pki

import (
	"crypto/x509"
	"net"
	"slices"
	"time"
)

// renewal is the remaining validity below which a stored certificate is issued again. It is long, because only a
// start issues certificates again, and a server may run for a long time.
const renewal = 365 * 24 * time.Hour

// isDue tells whether a certificate expires so soon that it must be issued again.
func (s *Store) isDue(c *x509.Certificate) bool { return s.now().Add(renewal).After(c.NotAfter) }

// coveredBy tells whether a certificate has all of the names.
func (n Names) coveredBy(c *x509.Certificate) bool {
	for _, name := range n.DNS {
		if !slices.Contains(c.DNSNames, name) {
			return false
		}
	}
	for _, ip := range n.IPs {
		if !slices.ContainsFunc(c.IPAddresses, ip.Equal) {
			return false
		}
	}
	return true
}

// with returns the names together with the names in a certificate.
func (n Names) with(c *x509.Certificate) Names {
	all := Names{DNS: slices.Clone(n.DNS), IPs: slices.Clone(n.IPs)}
	for _, name := range c.DNSNames {
		if !slices.Contains(all.DNS, name) {
			all.DNS = append(all.DNS, name)
		}
	}
	for _, ip := range c.IPAddresses {
		if !slices.ContainsFunc(all.IPs, func(have net.IP) bool { return have.Equal(ip) }) {
			all.IPs = append(all.IPs, ip)
		}
	}
	return all
}
