package behind

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// checkTimeout limits the time of one request by which the server checks that the cluster answers.
const checkTimeout = 5 * time.Second

// Cluster is the cluster that a server is behind.
type Cluster struct {
	// Config is the client configuration of the server in the cluster.
	Config *rest.Config

	options *Options
	client  kubernetes.Interface
	// authentication is the client of --authentication-kubeconfig.
	authentication kubernetes.Interface
	// publishesClientCA is true if the ConfigMap has an authority of client certificates.
	publishesClientCA bool
	// clientCA follows that authority. It is nil if the server doesn't take it from the ConfigMap.
	clientCA dynamiccertificates.CAContentProvider
}

// Cluster returns the cluster of complete options.
func (o *Options) Cluster() (*Cluster, error) {
	config, client, err := connect(cmp.Or(o.CoreAPI.CoreAPIKubeconfigPath, o.Kubeconfig))
	if err != nil {
		return nil, err
	}
	_, authentication, err := connect(cmp.Or(o.Authentication.RemoteKubeConfigFile, o.Kubeconfig))
	if err != nil {
		return nil, err
	}
	return &Cluster{Config: config, options: o, client: client, authentication: authentication}, nil
}

// connect returns the client of a kubeconfig, and its configuration.
func connect(file string) (*rest.Config, kubernetes.Interface, error) {
	config, err := load(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--behind %s: %w", file, err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("--behind %s: %w", file, err)
	}
	return config, client, nil
}

// The ConfigMap with the authorities that authenticate clients and front proxies, and its key for those of clients.
const (
	authenticationNamespace = metav1.NamespaceSystem
	authenticationConfigMap = "extension-apiserver-authentication"
	clientCAKey             = "client-ca-file"
)

// permission is what a server behind a cluster must be allowed to do there, and the role that allows it.
type permission struct {
	verbs, resources []string
	group, role      string
}

// permissions lists what the server needs besides the ConfigMap.
var permissions = []permission{
	{[]string{"create"}, []string{"tokenreviews"}, "authentication.k8s.io", "the cluster role system:auth-delegator"},
	{[]string{"create"}, []string{"subjectaccessreviews"}, "authorization.k8s.io", "the cluster role system:auth-delegator"},
	{[]string{"list", "watch"}, []string{"namespaces", "services", "endpoints"}, "", "a cluster role for admission"},
	{[]string{"list", "watch"}, []string{"endpointslices"}, "discovery.k8s.io", "a cluster role for admission"},
	{[]string{"list", "watch"}, []string{
		"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings",
	}, "admissionregistration.k8s.io", "a cluster role for admission"},
}

// Check returns an error if the server can't work behind the cluster. The error says what to do.
func (c *Cluster) Check(ctx context.Context) error {
	if err := c.check(ctx); err != nil {
		return fmt.Errorf("--behind %s: %w", c.options.Kubeconfig, err)
	}
	return nil
}

func (c *Cluster) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.checkCertificate(time.Now()); err != nil {
		return err
	}
	if c.options.readsConfigMap() {
		published, err := c.authentication.CoreV1().ConfigMaps(authenticationNamespace).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
		if err != nil {
			return c.explained(err)
		}
		c.publishesClientCA = published.Data[clientCAKey] != ""
	}
	var missing errgroup.Group
	lacking := make([]string, len(permissions))
	for i, p := range permissions {
		missing.Go(func() (err error) {
			lacking[i], err = c.lacks(ctx, p)
			return c.explained(err)
		})
	}
	if err := missing.Wait(); err != nil {
		return err
	}
	if lacking = slices.DeleteFunc(lacking, func(s string) bool { return s == "" }); len(lacking) > 0 {
		return fmt.Errorf("the user of the kubeconfig may not %s: bind the roles that \"miniapi aggregated manifests\" prints", strings.Join(lacking, ", and not "))
	}
	return nil
}

// readsConfigMap reports whether the server takes authorities from the ConfigMap, and can't start without.
func (o *Options) readsConfigMap() bool {
	given := o.Authentication.RequestHeader.ClientCAFile != "" && o.Authentication.ClientCert.ClientCA != ""
	return !o.Authentication.SkipInClusterLookup && !o.Authentication.TolerateInClusterLookupFailure && !given
}

// lacks returns the first part of a permission that the cluster doesn't grant, or "".
func (c *Cluster) lacks(ctx context.Context, p permission) (string, error) {
	for _, resource := range p.resources {
		for _, verb := range p.verbs {
			review, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: p.group, Resource: resource},
				},
			}, metav1.CreateOptions{})
			if err != nil {
				return "", err
			}
			if !review.Status.Allowed {
				return fmt.Sprintf("%s %s (%s)", verb, strings.TrimSuffix(resource+"."+p.group, "."), p.role), nil
			}
		}
	}
	return "", nil
}

// checkCertificate returns an error if the client certificate of the kubeconfig isn't valid at a time.
func (c *Cluster) checkCertificate(now time.Time) error {
	config, err := c.Config.TransportConfig()
	if err != nil {
		return err
	}
	files, err := transport.TLSConfigFor(config)
	if err != nil || files == nil || files.GetClientCertificate == nil {
		return err
	}
	pair, err := files.GetClientCertificate(nil)
	if err != nil || len(pair.Certificate) == 0 {
		return err
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	switch {
	case err != nil:
		return err
	case now.After(certificate.NotAfter):
		return fmt.Errorf("the client certificate of %s has expired at %s, and it is %s: renew it, or set the clock", certificate.Subject, certificate.NotAfter.Format(time.RFC3339), now.Format(time.RFC3339))
	case now.Before(certificate.NotBefore):
		return fmt.Errorf("the client certificate of %s is valid from %s on, and it is %s: set the clock", certificate.Subject, certificate.NotBefore.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	return nil
}

// explained adds what to do to an error of a request to the cluster.
func (c *Cluster) explained(err error) error {
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	switch {
	case err == nil:
		return nil
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s doesn't accept the user of the kubeconfig: renew the token or the client certificate: %w", c.Config.Host, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: bind the role %s/extension-apiserver-authentication-reader, as \"miniapi aggregated manifests\" prints it", err, authenticationNamespace)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s has no config map %s/%s, as every cluster has: name the kubeconfig of a cluster: %w", c.Config.Host, authenticationNamespace, authenticationConfigMap, err)
	case errors.As(err, &invalid):
		return fmt.Errorf("the serving certificate of %s isn't valid now: renew it, or set the clock: %w", c.Config.Host, err)
	case errors.As(err, &authority):
		return fmt.Errorf("the certificate-authority-data of the kubeconfig isn't that of %s: fetch the kubeconfig again: %w", c.Config.Host, err)
	}
	return fmt.Errorf("%s must answer, and doesn't: start the cluster, or name another kubeconfig: %w", c.Config.Host, err)
}

// Authenticate makes the cluster authenticate requests. It must be called after Check.
func (c *Cluster) Authenticate(info *genericapiserver.AuthenticationInfo, serving *genericapiserver.SecureServingInfo) error {
	options := *c.options.Authentication
	if c.publishesClientCA && options.ClientCert == (genericoptions.ClientCertAuthenticationOptions{}) {
		// The options would make the same follower of the authority, whose state only this package needs.
		follower, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", authenticationNamespace, authenticationConfigMap, clientCAKey, c.authentication)
		if err != nil {
			return err
		}
		c.clientCA, options.ClientCert.CAContentProvider = follower, follower
	}
	return options.ApplyTo(info, serving, nil)
}

// Health returns the check "cluster", which fails while the cluster doesn't answer, and until the server has read the
// authority of client certificates that the cluster publishes.
func (c *Cluster) Health() healthz.HealthChecker {
	return healthz.NamedCheck("cluster", func(req *http.Request) error {
		if c.clientCA != nil {
			if _, read := c.clientCA.VerifyOptions(); !read {
				return fmt.Errorf("the config map %s/%s of %s isn't read yet", authenticationNamespace, authenticationConfigMap, c.Config.Host)
			}
		}
		ctx, cancel := context.WithTimeout(req.Context(), checkTimeout)
		defer cancel()
		if err := c.client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
			return fmt.Errorf("%s doesn't answer: %w", c.Config.Host, err)
		}
		return nil
	})
}

// KubernetesService returns the client configuration for the service default/kubernetes. Its requests go to the cluster,
// with the credentials of the kubeconfig.
func (c *Cluster) KubernetesService() (*rest.Config, error) {
	address, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(c.Config)
	if err != nil {
		return nil, err
	}
	return &rest.Config{Transport: redirecting{transport, address}}, nil
}

// redirecting sends all requests to one server.
type redirecting struct {
	http.RoundTripper
	to *url.URL
}

// RoundTrip implements http.RoundTripper.
func (r redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context()) // a RoundTripper must not change the request
	path, query := req.URL.Path, req.URL.RawQuery
	req.URL, req.Host = r.to.JoinPath(path), ""
	req.URL.RawQuery = query
	return r.RoundTripper.RoundTrip(req)
}
