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

// Dependencies are what the storages need of the server around them.
type Dependencies struct {
	// RESTOptions says how each resource is stored. Required.
	RESTOptions generic.RESTOptionsGetter

	// Written is called after each write that was stored, before its answer, with
	// the object as stored (or, for a deletion, as last stored).
	Written func(schema.GroupResource, runtime.Object)

	// Kubernetes is the version of Kubernetes that is emulated. Fields that are newer are dropped from what is written.
	// Nil stands for the newest version.
	Kubernetes *version.Version

	// EventTTL is how long events are kept (--event-ttl).
	EventTTL time.Duration

	// Authenticator judges tokens for TokenReviews, Audiences are this server's own.
	Authenticator authenticator.Request
	Audiences     authenticator.Audiences
	// Authorizer and RuleResolver answer access reviews.
	Authorizer   authorizer.Authorizer
	RuleResolver authorizer.RuleResolver
	// Escalation refuses roles and bindings that grant more than their author has;
	// nil allows them.
	Escalation Escalation

	// Tokens signs service account tokens.
	Tokens TokenIssuer

	// AllowPrivileged lets containers be privileged (--allow-privileged).
	AllowPrivileged bool

	// ServiceNets are the ranges of cluster IPs, one for each IP family, the
	// preferred one first. NodePorts is the range of node ports.
	ServiceNets []*net.IPNet
	NodePorts   utilnet.PortRange
	// IPAddresses writes the addresses that services hold, as a client of this server
	// does, so that admission sees them. Without it they are written past admission.
	IPAddresses IPAddressWriter

	// Kubelet is how kubelets are reached.
	Kubelet Kubelet

	// CustomResource is the resource of a kind that the table doesn't have, if one is
	// served. Without it none is.
	CustomResource func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)

	// ServedResources are what requests can be made for now, and ServiceWarning says why webhooks of a service can't be
	// called, "" if they may be. Webhook configurations are warned about by them; without them they aren't.
	ServedResources iter.Seq[warnings.ServedResource]
	ServiceWarning  func(namespace, name string, port int32) string

	// StoreOf finds the storage of another row. The table sets it.
	StoreOf func(schema.GroupResource) (*Storage, error)
	// ResourceOf is the resource of a kind, if it is known. The table sets it.
	ResourceOf func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)
}

// Get reads an object of another row, of a cluster-scoped kind.
func (d Dependencies) Get(ctx context.Context, resource schema.GroupResource, name string) (runtime.Object, error) {
	store, err := d.StoreOf(resource)
	if err != nil {
		return nil, err
	}
	return store.Get(genericapirequest.WithNamespace(ctx, ""), name, &metav1.GetOptions{})
}

// Kubelet is how kubelets are reached.
type Kubelet struct {
	// Transport authenticates this server to kubelets.
	Transport http.RoundTripper
	// AddressTypes is the order in which a node's addresses are preferred.
	AddressTypes []string
}

// Escalation checks that a user may grant what a role or a binding grants.
type Escalation interface {
	// Check returns an error for an object of rbac.authorization.k8s.io that the
	// user of ctx may not write. The old object is nil on create.
	Check(ctx context.Context, obj, old runtime.Object) error
}

// TokenIssuer signs service account tokens.
type TokenIssuer interface {
	// IssueToken fills in what the request's spec leaves out, and its status. Bound
	// are the objects that the token ends with.
	IssueToken(ctx context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest, bound ...runtime.Object) error
}

// IPAddressWriter creates and deletes IPAddresses, as a client does.
type IPAddressWriter interface {
	Create(ctx context.Context, address *networkingv1.IPAddress, options metav1.CreateOptions) (*networkingv1.IPAddress, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}
