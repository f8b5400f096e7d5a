// Package frontproxy has the client certificate by which a server proves its identity to the servers of aggregated
// APIs. Because of the certificate, these servers trust the user names in the server's requests.
//
// [Config.Identity] makes the certificate. Don't use the package for the other servers of an external etcd: they have
// an authority of their own, see package peers.
package frontproxy

import (
	"context"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// clientName is the common name of the certificate that the server makes.
const clientName = "front-proxy-client"

// Writer writes objects without admission. Admission could call a webhook that accepts the server's certificate only
// after the write.
type Writer interface {
	Create(ctx context.Context, obj runtime.Object, dryRun ...string) (runtime.Object, error)
	Update(ctx context.Context, live, updated runtime.Object) error
}

// Config has the settings of the client certificate by which a server calls aggregated APIs.
type Config struct {
	// CertFile and KeyFile are the values of --proxy-client-cert-file and --proxy-client-key-file, or "".
	CertFile, KeyFile string
	// PublishedElsewhere is true if flags or other servers publish the authority of front-proxy certificates. Then
	// Identity makes no certificate.
	PublishedElsewhere bool
	// ClientCA returns the authority of the server's clients. Identity publishes it together with the authority of the
	// front-proxy certificate.
	ClientCA func() dynamiccertificates.CAContentProvider
	// ConfigMaps is a client for namespace kube-system.
	ConfigMaps typedv1.ConfigMapInterface
	Writer     Writer
}

// Identity returns a function that returns the certificate and its key. If CertFile is set, the function reads the
// files. Otherwise, if PublishedElsewhere is set, the function returns no certificate. Otherwise, the first call makes
// the certificate and the key, and each call publishes the certificate's authority.
func (c Config) Identity() func(context.Context) (cert, key []byte, err error) {
	if c.CertFile != "" {
		return func(context.Context) (cert, key []byte, err error) {
			if cert, err = os.ReadFile(c.CertFile); err != nil {
				return nil, nil, fmt.Errorf("--proxy-client-cert-file: %w", err)
			}
			if key, err = os.ReadFile(c.KeyFile); err != nil {
				return nil, nil, fmt.Errorf("--proxy-client-key-file: %w", err)
			}
			return cert, key, nil
		}
	}
	if c.PublishedElsewhere {
		return func(context.Context) (cert, key []byte, err error) { return nil, nil, nil }
	}
	var mu sync.Mutex
	var proxy *certificate
	return func(ctx context.Context) (cert, key []byte, err error) {
		mu.Lock()
		defer mu.Unlock()
		if proxy == nil {
			if proxy, err = newCertificate(); err != nil {
				return nil, nil, fmt.Errorf("creating the certificate of the front proxy: %w", err)
			}
		}
		// trust runs at each call, because a restore may have removed the published authority since the last call.
		if err := c.trust(ctx, proxy); err != nil {
			return nil, nil, fmt.Errorf("publishing the authority of the front proxy's certificate in ConfigMap kube-system/extension-apiserver-authentication: %w", err)
		}
		return proxy.Cert, proxy.Key, nil
	}
}

// certificate is a client certificate with its key, and the certificate's authority.
type certificate struct {
	pki.KeyPair
	ca dynamiccertificates.CAContentProvider
}

func newCertificate() (*certificate, error) {
	authority, err := pki.NewAuthority("miniapi-front-proxy")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Client(clientName)
	if err != nil {
		return nil, err
	}
	ca, err := dynamiccertificates.NewStaticCAContent("front-proxy", authority.CA())
	if err != nil {
		return nil, err
	}
	return &certificate{pair, ca}, nil
}

// unaskedConfigMaps is a client for ConfigMaps that writes without admission.
type unaskedConfigMaps struct {
	typedv1.ConfigMapInterface
	writer Writer
}

// Create implements typedv1.ConfigMapInterface.
func (u unaskedConfigMaps) Create(ctx context.Context, m *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	_, err := u.writer.Create(ctx, m)
	return m, err
}

// Update implements typedv1.ConfigMapInterface.
func (u unaskedConfigMaps) Update(ctx context.Context, m *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	live, err := u.Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return m, u.writer.Update(ctx, live, m)
}

// trust publishes the certificate's authority in a ConfigMap, which the servers of aggregated APIs read.
func (c Config) trust(ctx context.Context, proxy *certificate) error {
	configMaps := unaskedConfigMaps{c.ConfigMaps, c.Writer}
	return bootstrap.EnsureTrust(ctx, configMaps, bootstrap.Config{
		ClientCA: c.ClientCA(),
		RequestHeader: &authenticatorfactory.RequestHeaderConfig{
			UsernameHeaders:     headerrequest.StaticStringSlice{"X-Remote-User"},
			UIDHeaders:          headerrequest.StaticStringSlice{"X-Remote-Uid"},
			GroupHeaders:        headerrequest.StaticStringSlice{"X-Remote-Group"},
			ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
			AllowedClientNames:  headerrequest.StaticStringSlice{clientName},
			CAContentProvider:   proxy.ca,
		},
	})
}
