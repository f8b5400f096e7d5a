package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestServingFor(t *testing.T) {
	t.Parallel()
	authority, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	request, key, err := NewRequest(Names{DNS: []string{"a.b.svc"}, IPs: []net.IP{net.IPv6loopback}})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := authority.ServingFor(request)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(chain, authority.CA()) {
		t.Error("the chain doesn't end with the authority")
	}
	issued := leaf(t, KeyPair{Cert: chain, Key: key})
	for _, host := range []string{"a.b.svc", "::1"} {
		if err := verify(issued, authority.CA(), time.Now(), host, x509.ExtKeyUsageServerAuth); err != nil {
			t.Error(err)
		}
	}
	if err := verify(issued, authority.CA(), time.Now(), "", x509.ExtKeyUsageClientAuth); err == nil {
		t.Error("the certificate is valid for clients, too: the server would accept its names as users")
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	authority, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	encoded := func(template *x509.CertificateRequest, damage func([]byte) []byte) []byte {
		t.Helper()
		key, err := newKey()
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
		if err != nil {
			t.Fatal(err)
		}
		if damage != nil {
			der = damage(der)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	for _, c := range []struct {
		name, reason string
		request      []byte
		want         string
	}{
		{"nothing", "an empty request has no key", nil, "certificate request: must be in PEM"},
		{"certificate", "a certificate isn't a request", authority.CA(), "certificate request: must be in PEM"},
		{"cut short", "a part of a request can't be parsed",
			encoded(&x509.CertificateRequest{DNSNames: []string{"a"}}, func(der []byte) []byte { return der[:len(der)/2] }),
			"certificate request: "},
		{"wrong signature", "the key may belong to another program", encoded(&x509.CertificateRequest{DNSNames: []string{"a"}}, func(der []byte) []byte {
			// Change the name in the request without signing the request again.
			return bytes.Replace(der, []byte("\x82\x01a"), []byte("\x82\x01b"), 1)
		}), "must be signed by the key of the request"},
		{"no host", "no client could verify the certificate",
			encoded(&x509.CertificateRequest{URIs: []*url.URL{{Scheme: "spiffe", Host: "a"}}}, nil),
			"no host is named"},
	} {
		if _, err := authority.ServingFor(c.request); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q: %s", c.name, err, c.want, c.reason)
		}
	}
}
