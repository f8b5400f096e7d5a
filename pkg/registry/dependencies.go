package registry

import (
	"context"
	"iter"
	"net"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// Dependencies are the parts of the server that storages need.
type Dependencies struct {
	// RESTOptions has the storage options of each resource. Required.
	RESTOptions generic.RESTOptionsGetter

	// Written is called after each stored write, before the response. Its argument is the stored object or, for a
	// deletion, the last stored one.
	Written func(schema.GroupResource, runtime.Object)

	// Kubernetes is the emulated version of Kubernetes. Writes drop fields that are newer. Nil stands for the newest
	// version.
	Kubernetes *version.Version

	// EventTTL is the time after which events expire (--event-ttl).
	EventTTL time.Duration

	// Authenticator checks the tokens of TokenReviews. Audiences are those of this server.
	Authenticator authenticator.Request
	Audiences     authenticator.Audiences
	// Authorizer and RuleResolver answer access reviews.
	Authorizer   authorizer.Authorizer
	RuleResolver authorizer.RuleResolver
	// Escalation refuses roles and bindings that grant more than their author has. Nil allows all.
	Escalation Escalation

	// Tokens signs service account tokens.
	Tokens TokenIssuer

	// NamespaceController is true if the server empties namespaces that are deleted. Otherwise such a namespace has a
	// condition that says so.
	NamespaceController bool

	// AllowPrivileged lets containers be privileged (--allow-privileged).
	AllowPrivileged bool

	// ServiceNets are the ranges of cluster IPs, one for each IP family, with the preferred family first. NodePorts is
	// the range of node ports.
	ServiceNets []*net.IPNet
	NodePorts   utilnet.PortRange
	// IPAddresses writes the IPAddress objects of services through the API of this server, so that admission sees them.
	// If IPAddresses is nil, the writes bypass admission.
	IPAddresses IPAddressWriter

	// Kubelet has the connection to kubelets.
	Kubelet Kubelet

	// CustomResource returns the resource of a kind that isn't in the table, if a definition serves it. If
	// CustomResource is nil, there are no custom resources.
	CustomResource func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)

	// ServedResources returns the resources that are served now. ServiceWarning returns the reason why webhooks of a
	// service can't be called, or "". Both are for warnings about webhook configurations. If they are nil, there are no
	// such warnings.
	ServedResources iter.Seq[warnings.ServedResource]
	ServiceWarning  func(namespace, name string, port int32) string

	// StoreOf returns the storage of another row. The table sets it.
	StoreOf func(schema.GroupResource) (*Storage, error)
	// ResourceOf returns the resource of a kind, if the kind is known. The table sets it.
	ResourceOf func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)
}

// Get reads an object of another row. The row's kind must be cluster-scoped.
func (d Dependencies) Get(ctx context.Context, resource schema.GroupResource, name string) (runtime.Object, error) {
	store, err := d.StoreOf(resource)
	if err != nil {
		return nil, err
	}
	return store.Get(genericapirequest.WithNamespace(ctx, ""), name, &metav1.GetOptions{})
}

// Kubelet has the connection to kubelets.
type Kubelet struct {
	// Transport authenticates this server to kubelets.
	Transport http.RoundTripper
	// AddressTypes are the types of node addresses in order of preference.
	AddressTypes []string
}

// Escalation checks that a user may grant the permissions of a role or a binding.
type Escalation interface {
	// Check returns an error for an object of rbac.authorization.k8s.io that the user of ctx must not write. The old
	// object is nil on create.
	Check(ctx context.Context, obj, old runtime.Object) error
}

// TokenIssuer signs service account tokens.
type TokenIssuer interface {
	// IssueToken sets the defaults of the request's spec, and its status. The token is invalid when one of the bound
	// objects is deleted.
	IssueToken(ctx context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest, bound ...runtime.Object) error
}

// IPAddressWriter creates and deletes IPAddresses through the API.
type IPAddressWriter interface {
	Create(ctx context.Context, address *networkingv1.IPAddress, options metav1.CreateOptions) (*networkingv1.IPAddress, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}
