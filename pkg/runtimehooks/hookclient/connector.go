package hookclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

// Connector determines the URLs and the HTTP clients for extensions.
type Connector interface {
	// Connect returns the URL and the HTTP client for an extension. It doesn't open a connection.
	Connect(runtimev1.ClientConfig) (Connection, error)
}

// Connection says how to reach an extension. Its HTTP client doesn't follow redirects: an extension must not send
// its callers to another server.
type Connection struct {
	// URL is the URL of the extension. The paths of hooks are appended to it.
	URL  *url.URL
	HTTP *http.Client
}

// ServiceResolver returns a host and a port that belong to a service.
type ServiceResolver interface {
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
}

// ConnectorOptions are the options of an HTTPSConnector. The zero value is valid.
type ConnectorOptions struct {
	// Services finds the addresses of services. By default, the DNS name of the service is used, as in a cluster.
	Services ServiceResolver
	// CertFile and KeyFile are files with the client certificate for extensions. If the files change, the next call
	// uses the new certificate.
	CertFile, KeyFile string
	// Dial opens connections. The default is the method DialContext of a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// connections is the largest number of extensions to which connections are kept open.
const connections = 256

// HTTPSConnector connects to extensions by HTTPS, and uses HTTP/2 if an extension supports it.
type HTTPSConnector struct {
	options     ConnectorOptions
	certificate *Certificate // nil without a client certificate

	mu      sync.Mutex
	clients *lru.Cache // the HTTP clients (*http.Client), by clientKey
}

var _ Connector = &HTTPSConnector{}

// clientKey has the settings that decide which extensions share an HTTP client.
type clientKey struct {
	host, caBundle string
	// service is true if the address of the extension is that of a service, and not that of the host.
	service bool
}

// NewHTTPSConnector returns a connector. Close it to close its connections.
func NewHTTPSConnector(options ConnectorOptions) (*HTTPSConnector, error) {
	if (options.CertFile == "") != (options.KeyFile == "") {
		return nil, fmt.Errorf("client certificate %q with key %q: must have both files", options.CertFile, options.KeyFile)
	}
	c := &HTTPSConnector{options: options}
	c.clients = lru.NewWithEvictionFunc(connections, func(_ lru.Key, client any) { client.(*http.Client).CloseIdleConnections() })
	if options.CertFile != "" {
		var err error
		if c.certificate, err = NewCertificate(options.CertFile, options.KeyFile); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close closes all idle connections.
func (c *HTTPSConnector) Close() { c.clients.Clear() }

// Connect implements Connector.
func (c *HTTPSConnector) Connect(config runtimev1.ClientConfig) (Connection, error) {
	base, err := BaseURL(config)
	if err != nil {
		return Connection{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.certificate != nil {
		changed, err := c.certificate.Reload()
		if err != nil {
			return Connection{}, err
		}
		if changed { // an open connection would go on with the old certificate
			c.clients.Clear()
		}
	}
	key := clientKey{base.Host, string(config.CABundle), config.Service.IsSet()}
	if known, ok := c.clients.Get(key); ok {
		return Connection{base, known.(*http.Client)}, nil
	}
	client, err := c.newClient(config, base)
	if err != nil {
		return Connection{}, err
	}
	c.clients.Add(key, client)
	return Connection{base, client}, nil
}

func (c *HTTPSConnector) newClient(config runtimev1.ClientConfig, base *url.URL) (*http.Client, error) {
	security := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: base.Hostname()}
	if len(config.CABundle) > 0 {
		security.RootCAs = x509.NewCertPool()
		if !security.RootCAs.AppendCertsFromPEM(config.CABundle) {
			return nil, errors.New("spec.clientConfig.caBundle: must have certificates in PEM, and has none")
		}
	}
	if c.certificate != nil {
		security.GetClientCertificate = c.certificate.get
	}
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        security,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    25,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		DialContext:            c.dial(config.Service),
	}
	return NoRedirects(&http.Client{Transport: transport}), nil
}

// NoRedirects makes an HTTP client return a redirect as the response, in place of following it. It returns the same
// client.
func NoRedirects(client *http.Client) *http.Client {
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// dial returns the function that opens connections. If the extension is a service, and the option Services is set,
// the function connects to the address that Services returns.
func (c *HTTPSConnector) dial(service runtimev1.ServiceReference) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.options.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	if !service.IsSet() || c.options.Services == nil {
		return dial
	}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		endpoint, err := c.options.Services.ResolveEndpoint(service.Namespace, service.Name, ptr.Deref(service.Port, runtimev1.DefaultServicePort))
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, endpoint.Host)
	}
}

// BaseURL returns the URL of an extension. The paths of hooks are appended to it. The URL of a service is
// https://NAME.NAMESPACE.svc:PORT, with the path of the ServiceReference if it has one.
func BaseURL(config runtimev1.ClientConfig) (*url.URL, error) {
	switch service := config.Service; {
	case config.URL != "" && service.IsSet():
		return nil, errors.New("spec.clientConfig has a url and a service: must have only one of them")
	case service.IsSet():
		port := int(cmp.Or(ptr.Deref(service.Port, 0), runtimev1.DefaultServicePort))
		return &url.URL{
			Scheme: "https",
			Host:   net.JoinHostPort(service.Name+"."+service.Namespace+".svc", strconv.Itoa(port)),
			Path:   service.Path,
		}, nil
	case config.URL == "":
		return nil, errors.New("spec.clientConfig has neither a url nor a service: must have one of them")
	}
	base, err := url.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("spec.clientConfig.url: must be of the form https://HOST[:PORT][/PREFIX]: %w", err)
	}
	if base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("spec.clientConfig.url %q must be of the form https://HOST[:PORT][/PREFIX]", config.URL)
	}
	return base, nil
}
