// Package frontproxy has the client certificate by which a server proves its identity to the servers of aggregated
// APIs. Because of the certificate, these servers trust the user names in the server's requests.
//
// [NewAuthority] is the constructor, and [Config.Identity] makes the certificate. Don't use the package for the other servers of an external etcd: they have
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

// Authority issues the client certificate by which a server calls aggregated APIs.
type Authority struct {
	authority *pki.Authority
	// RequestHeader tells the servers of aggregated APIs which certificate and which headers a request from the server has.
	RequestHeader *authenticatorfactory.RequestHeaderConfig
}

// NewAuthority returns an Authority that issues with an authority of its own: users must not have its certificates.
func NewAuthority(authority *pki.Authority) (*Authority, error) {
	ca, err := dynamiccertificates.NewStaticCAContent("front-proxy", authority.CA())
	if err != nil {
		return nil, err
	}
	return &Authority{authority, &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders:     headerrequest.StaticStringSlice{"X-Remote-User"},
		UIDHeaders:          headerrequest.StaticStringSlice{"X-Remote-Uid"},
		GroupHeaders:        headerrequest.StaticStringSlice{"X-Remote-Group"},
		ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
		AllowedClientNames:  headerrequest.StaticStringSlice{clientName},
		CAContentProvider:   ca,
	}}, nil
}

// Config has the settings of the client certificate by which a server calls aggregated APIs.
type Config struct {
	// CertFile and KeyFile are the values of --proxy-client-cert-file and --proxy-client-key-file, or "".
	CertFile, KeyFile string
	// Authority issues the certificate if CertFile is "". If it is nil, there is no certificate.
	Authority *Authority
	// ClientCA returns the authority of the server's clients. Identity publishes it together with the authority of the
	// front-proxy certificate.
	ClientCA func() dynamiccertificates.CAContentProvider
	// ConfigMaps is a client for namespace kube-system.
	ConfigMaps typedv1.ConfigMapInterface
	Writer     Writer
}

// Identity returns a function that returns the certificate and its key. If CertFile is set, the function reads the
// files. Otherwise, the Authority issues the certificate at the first call, and each call publishes the Authority.
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
	if c.Authority == nil {
		return func(context.Context) (cert, key []byte, err error) { return nil, nil, nil }
	}
	issue := sync.OnceValues(func() (pki.KeyPair, error) { return c.Authority.authority.Client(clientName) })
	return func(ctx context.Context) (cert, key []byte, err error) {
		pair, err := issue()
		if err != nil {
			return nil, nil, fmt.Errorf("creating the certificate of the front proxy: %w", err)
		}
		// trust runs at each call, because a restore may have removed the published authority since the last call.
		if err := c.trust(ctx); err != nil {
			return nil, nil, fmt.Errorf("publishing the authority of the front proxy's certificate in ConfigMap kube-system/extension-apiserver-authentication: %w", err)
		}
		return pair.Cert, pair.Key, nil
	}
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

// trust publishes the Authority in a ConfigMap, which the servers of aggregated APIs read.
func (c Config) trust(ctx context.Context) error {
	configMaps := unaskedConfigMaps{c.ConfigMaps, c.Writer}
	return bootstrap.EnsureTrust(ctx, configMaps, bootstrap.Config{ClientCA: c.ClientCA(), RequestHeader: c.Authority.RequestHeader})
}
