package server

import (
	"context"
	"fmt"
	"os"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
)

// frontProxy is the name in the certificate by which other servers know this one, if no other is given.
const frontProxy = "front-proxy-client"

// frontProxyIdentity is the certificate by which other servers trust this one in who asks. Without
// --proxy-client-cert-file, and if nothing else is said of whom they trust, it is made when it is needed, and they are
// told to trust it.
func (c *Config) frontProxyIdentity() func(context.Context) (cert, key []byte, err error) {
	o := c.options
	if o.ProxyClientCertFile != "" {
		return func(context.Context) (cert, key []byte, err error) {
			if cert, err = os.ReadFile(o.ProxyClientCertFile); err != nil {
				return nil, nil, fmt.Errorf("--proxy-client-cert-file: %w", err)
			}
			if key, err = os.ReadFile(o.ProxyClientKeyFile); err != nil {
				return nil, nil, fmt.Errorf("--proxy-client-key-file: %w", err)
			}
			return cert, key, nil
		}
	}
	if c.authentication.RequestHeader != nil || c.member == nil {
		return func(context.Context) (cert, key []byte, err error) { return nil, nil, nil }
	}
	var mu sync.Mutex
	var proxy *frontProxyCertificate
	return func(ctx context.Context) (cert, key []byte, err error) {
		mu.Lock()
		defer mu.Unlock()
		if proxy == nil {
			if proxy, err = newFrontProxy(); err != nil {
				return nil, nil, fmt.Errorf("creating the certificate of the front proxy: %w", err)
			}
		}
		// Each time, as what was told may have been put back since to what it was.
		if err := c.trust(ctx, proxy); err != nil {
			return nil, nil, fmt.Errorf("telling other servers to trust the certificate of the front proxy: %w", err)
		}
		return proxy.cert, proxy.key, nil
	}
}

// frontProxyCertificate is a certificate, and the authority that it is of.
type frontProxyCertificate struct {
	keyPair
	ca dynamiccertificates.CAContentProvider
}

func newFrontProxy() (*frontProxyCertificate, error) {
	authority, err := newAuthority("miniapi-front-proxy")
	if err != nil {
		return nil, err
	}
	pair, err := authority.client(frontProxy)
	if err != nil {
		return nil, err
	}
	ca, err := dynamiccertificates.NewStaticCAContent("front-proxy", authority.pem)
	if err != nil {
		return nil, err
	}
	return &frontProxyCertificate{pair, ca}, nil
}

// trust tells other servers to trust the certificate.
func (c *Config) trust(ctx context.Context, proxy *frontProxyCertificate) error {
	return bootstrap.EnsureTrust(ctx, c.client, bootstrap.Config{
		ClientCA: c.authentication.ClientCA(),
		RequestHeader: &authenticatorfactory.RequestHeaderConfig{
			UsernameHeaders:     headerrequest.StaticStringSlice{"X-Remote-User"},
			UIDHeaders:          headerrequest.StaticStringSlice{"X-Remote-Uid"},
			GroupHeaders:        headerrequest.StaticStringSlice{"X-Remote-Group"},
			ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
			AllowedClientNames:  headerrequest.StaticStringSlice{frontProxy},
			CAContentProvider:   proxy.ca,
		},
	})
}
