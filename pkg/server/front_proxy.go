package server

import (
	"context"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// frontProxy is the name in the certificate by which other servers know this one, if no other is given.
const frontProxy = "front-proxy-client"

// frontProxyIdentity is the certificate by which other servers trust this one in who asks. Without
// --proxy-client-cert-file, and if nothing else is said of whom they trust, it is made when it is needed, and they are
// told to trust it.
func (c *Config) frontProxyIdentity(writer *creator) func(context.Context) (cert, key []byte, err error) {
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
		if err := c.trust(ctx, writer, proxy); err != nil {
			return nil, nil, fmt.Errorf("telling other servers to trust the certificate of the front proxy: %w", err)
		}
		return proxy.Cert, proxy.Key, nil
	}
}

// frontProxyCertificate is a certificate, and the authority that it is of.
type frontProxyCertificate struct {
	pki.KeyPair
	ca dynamiccertificates.CAContentProvider
}

func newFrontProxy() (*frontProxyCertificate, error) {
	authority, err := pki.NewAuthority("miniapi-front-proxy")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Client(frontProxy)
	if err != nil {
		return nil, err
	}
	ca, err := dynamiccertificates.NewStaticCAContent("front-proxy", authority.CA())
	if err != nil {
		return nil, err
	}
	return &frontProxyCertificate{pair, ca}, nil
}

// unaskedConfigMaps are written past admission: who is asked may be a server that must be told first.
type unaskedConfigMaps struct {
	typedv1.ConfigMapInterface
	writer *creator
}

// Create implements typedv1.ConfigMapInterface.
func (u unaskedConfigMaps) Create(ctx context.Context, m *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	_, err := u.writer.create(ctx, m)
	return m, err
}

// Update implements typedv1.ConfigMapInterface.
func (u unaskedConfigMaps) Update(ctx context.Context, m *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	live, err := u.Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return m, u.writer.update(ctx, live, m)
}

// trust tells other servers to trust the certificate.
func (c *Config) trust(ctx context.Context, writer *creator, proxy *frontProxyCertificate) error {
	configMaps := unaskedConfigMaps{c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem), writer}
	return bootstrap.EnsureTrust(ctx, configMaps, bootstrap.Config{
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
