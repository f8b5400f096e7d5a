package webhooksuite

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// expiresSoon is the remaining validity below which a certificate should have been renewed.
const expiresSoon = 14 * 24 * time.Hour

// tlsCases returns the cases about certificates and TLS versions.
func tlsCases() []Case {
	return []Case{
		{
			ID: "tls.https", Level: LevelError, Source: "Dynamic Admission Control, URL",
			Promise: `The scheme must be "https"; the URL must begin with "https://".`,
			Advice:  "Serve TLS: API servers call no webhook over plain HTTP.",
			try: func(_ context.Context, s *Suite) ([]Finding, error) {
				if reason := s.noCertificates(); reason != "" {
					return nil, Skipped(reason)
				}
				var findings []Finding
				for i := range s.Hooks {
					if u := s.Hooks[i].Endpoint.URL; !strings.HasPrefix(u, "https://") {
						findings = append(findings, Finding{Sent: s.Hooks[i].Name, Seen: "the URL " + u})
					}
				}
				return findings, nil
			},
		},
		handshakeCase("tls.chain", LevelError, "The caBundle is used to verify the TLS connection: the certificate is signed by one of its authorities.", serviceSource,
			"Put the authority that signed the serving certificate into caBundle, and serve intermediate certificates with the leaf. A rotation of the authority changes caBundle too.", chainFinding),
		handshakeCase("tls.name", LevelError, "The server cert must be valid for <svc_name>.<svc_namespace>.svc, or for the host of the URL.", configurationSource,
			"Sign a certificate with that DNS name as a subject alternative name. The common name isn't looked at.", nameFinding),
		handshakeCase("tls.expiry", LevelError, "The certificate is valid now, and for two more weeks.", "RFC 5280, Validity",
			"Renew the certificate, and have the webhook load the new one without a restart.", expiryFinding),
		handshakeCase("tls.key", LevelWarning, "The key of the certificate has at least 2048 bits of RSA, and the signature no SHA-1.", "RFC 9325, Public Key Length",
			"Sign a certificate with an ECDSA key or 2048 bits of RSA, and SHA-256.", keyFinding),
		{
			ID: "tls.versions", Level: LevelWarning, Source: "RFC 9325, Protocol Versions",
			Promise: "The webhook speaks TLS 1.2 and TLS 1.3: API servers may be set to either alone.",
			Advice:  "Allow TLS 1.2 and 1.3. A webhook that lacks one can't be called by an API server with the other alone.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perEndpoint(func(h *Hook) *Finding {
					var missing []string
					for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
						if _, err := h.handshake(ctx, v, v); err != nil {
							missing = append(missing, fmt.Sprintf("%s: %v", tls.VersionName(v), err))
						}
					}
					if len(missing) == 0 {
						return nil
					}
					return &Finding{Seen: strings.Join(missing, "; ")}
				})
			},
		},
		{
			ID: "tls.obsolete", Level: LevelWarning, Source: "RFC 8996, Deprecating TLS 1.0 and TLS 1.1",
			Promise: "TLS 1.0 and TLS 1.1 are refused.",
			Advice:  "Set the least version to TLS 1.2.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perEndpoint(func(h *Hook) *Finding {
					if state, err := h.handshake(ctx, tls.VersionTLS10, tls.VersionTLS11); err == nil {
						return &Finding{Seen: "a handshake of " + tls.VersionName(state.Version)}
					}
					return nil
				})
			},
		},
	}
}

// handshakeCase returns a case that calls the function look with the certificates that each webhook's server sends in a
// TLS handshake.
func handshakeCase(id string, level Level, promise, source, advice string, look func(*Hook, []*x509.Certificate) *Finding) Case {
	return Case{
		ID: id, Promise: promise, Source: source, Level: level, Advice: advice,
		try: func(ctx context.Context, s *Suite) ([]Finding, error) {
			return s.perEndpoint(func(h *Hook) *Finding {
				state, err := h.handshake(ctx, tls.VersionTLS12, tls.VersionTLS13)
				if err != nil {
					return &Finding{Level: LevelError, Seen: fmt.Sprintf("no handshake: %v", err)}
				}
				return look(h, state.PeerCertificates)
			})
		},
	}
}

// noCertificates returns the reason why the suite can't check certificates, or "" if it can.
func (s *Suite) noCertificates() string {
	for i := range s.Hooks {
		if because := s.Hooks[i].Endpoint.Because; because != "" {
			return because
		}
	}
	return s.noConnections()
}

// perEndpoint calls the function look for the webhooks that are called by https: once for each address and name of the
// certificate.
func (s *Suite) perEndpoint(look func(*Hook) *Finding) ([]Finding, error) {
	if reason := s.noCertificates(); reason != "" {
		return nil, Skipped(reason)
	}
	seen := map[string]bool{}
	var findings []Finding
	for i := range s.Hooks {
		h := &s.Hooks[i]
		key := h.address() + " " + h.serverName()
		if !strings.HasPrefix(h.Endpoint.URL, "https://") || seen[key] {
			continue
		}
		seen[key] = true
		if f := look(h); f != nil {
			f.Sent = fmt.Sprintf("%s: a handshake with %s, for the name %s", h.Name, h.address(), h.serverName())
			findings = append(findings, *f)
		}
	}
	if len(seen) == 0 {
		return nil, skipped("no webhook is called by https")
	}
	return findings, nil
}

// address returns HOST:PORT of the webhook.
func (h *Hook) address() string {
	u, err := url.Parse(h.Endpoint.URL)
	if err != nil {
		return h.Endpoint.URL
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// serverName returns the name for which the certificate must be valid.
func (h *Hook) serverName() string {
	if h.Endpoint.TLS != nil && h.Endpoint.TLS.ServerName != "" {
		return h.Endpoint.TLS.ServerName
	}
	host, _, _ := net.SplitHostPort(h.address())
	return host
}

// handshake makes a connection and returns its TLS state. It allows the TLS versions from least to
// most, and accepts any certificate.
func (h *Hook) handshake(ctx context.Context, least, most uint16) (tls.ConnectionState, error) {
	config := h.Endpoint.unchecked()
	config.MinVersion, config.MaxVersion, config.ServerName = least, most, h.serverName()
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", h.address())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState(), nil
}

func chainFinding(h *Hook, chain []*x509.Certificate) *Finding {
	options := x509.VerifyOptions{Intermediates: x509.NewCertPool(), CurrentTime: chain[0].NotBefore.Add(chain[0].NotAfter.Sub(chain[0].NotBefore) / 2)}
	if h.Endpoint.TLS != nil {
		options.Roots = h.Endpoint.TLS.RootCAs
	}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := chain[0].Verify(options); err != nil {
		return &Finding{Seen: err.Error()}
	}
	return nil
}

func nameFinding(h *Hook, chain []*x509.Certificate) *Finding {
	if err := chain[0].VerifyHostname(h.serverName()); err != nil {
		return &Finding{Seen: err.Error()}
	}
	return nil
}

func expiryFinding(_ *Hook, chain []*x509.Certificate) *Finding {
	now := time.Now()
	for _, c := range chain {
		switch {
		case now.Before(c.NotBefore):
			return &Finding{Seen: fmt.Sprintf("the certificate %q is valid from %v on", c.Subject, c.NotBefore)}
		case now.After(c.NotAfter):
			return &Finding{Seen: fmt.Sprintf("the certificate %q was valid until %v", c.Subject, c.NotAfter)}
		case now.Add(expiresSoon).After(c.NotAfter):
			return &Finding{Level: LevelWarning, Seen: fmt.Sprintf("the certificate %q is valid until %v", c.Subject, c.NotAfter)}
		}
	}
	return nil
}

func keyFinding(_ *Hook, chain []*x509.Certificate) *Finding {
	if key, is := chain[0].PublicKey.(*rsa.PublicKey); is && key.N.BitLen() < 2048 {
		return &Finding{Seen: fmt.Sprintf("an RSA key of %d bits", key.N.BitLen())}
	}
	switch chain[0].SignatureAlgorithm {
	case x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.MD5WithRSA:
		return &Finding{Level: LevelError, Seen: "a signature of " + chain[0].SignatureAlgorithm.String()}
	}
	return nil
}
