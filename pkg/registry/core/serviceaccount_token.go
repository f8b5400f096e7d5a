package core

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func defaultTokenRequest(r *authenticationv1.TokenRequest) {
	defaults.Pointer(&r.Spec.ExpirationSeconds, defaults.TokenLifetimeSeconds)
}

// tokenRequest checks the requested lifetime of a service account's token (KEP-1205), and what the token attests. The
// TokenGenerator in package pkg/server/authn/serviceaccounttokens shortens a lifetime above
// --service-account-max-token-expiration.
func tokenRequest(o *authenticationv1.TokenRequest) field.ErrorList {
	var f validation.Findings
	if o.Spec.ExpirationSeconds != nil {
		f.Merge(validation.TokenLifetime(validation.SpecPath.Child("expirationSeconds"), *o.Spec.ExpirationSeconds))
	}
	if ref := o.Spec.BoundObjectRef; ref != nil && isWebhookConfiguration(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)) {
		f.Merge(webhookTokenRequest(&o.Spec))
	} else if len(o.Spec.Attestations) > 0 {
		return field.ErrorList{field.Invalid(validation.SpecPath.Child("attestations"), o.Spec.Attestations,
			"attestations may only be specified with a webhook bound object reference")}
	}
	return f.Errs
}

// ServiceAccountTokens has the issuer and the default audiences of service account tokens.
type ServiceAccountTokens struct {
	Issuer TokenIssuer
	// Audiences are the audiences of a token whose request names no audiences.
	Audiences []string
}

// TokenIssuer signs service account tokens.
type TokenIssuer interface {
	// IssueToken sets the defaults of the request's spec, and writes the token into its status. The token is valid
	// only as long as the objects to which it is bound exist.
	IssueToken(ctx context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest, bound ...runtime.Object) error
}

// tokenREST serves serviceaccounts/token, by which clients request bound tokens (KEP-1205).
type tokenREST struct {
	accounts, pods, secrets, nodes rest.Getter
	// configurations are the storages of webhook configurations, by their kinds.
	configurations map[string]rest.Getter
	authorizer     authorizer.Authorizer
	issuer         TokenIssuer
	audiences      []string
}

var (
	_ rest.NamedCreater                   = &tokenREST{}
	_ rest.GroupVersionKindProvider       = &tokenREST{}
	_ rest.SubresourceObjectMetaPreserver = &tokenREST{}
)

// tokenRequestKind is the kind of requests for tokens. It is in another group than service accounts.
var tokenRequestKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

func newToken(accounts *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	tokens := registry.PartOf[ServiceAccountTokens](deps)
	r := &tokenREST{
		accounts: accounts, configurations: map[string]rest.Getter{},
		authorizer: deps.Authorizer, issuer: tokens.Issuer, audiences: tokens.Audiences,
	}
	for resource, getter := range map[string]*rest.Getter{"pods": &r.pods, "secrets": &r.secrets, "nodes": &r.nodes} {
		store, err := deps.StoreOf(corev1.Resource(resource))
		if err != nil {
			return nil, err
		}
		*getter = store
	}
	for kind, resource := range webhookConfigurations {
		store, err := deps.StoreOf(admissionregistrationv1.Resource(resource))
		if err != nil {
			return nil, err
		}
		r.configurations[kind] = store
	}
	return r, nil
}

func (r *tokenREST) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy does nothing, because the stores belong to other resources, whose storages destroy them.
func (r *tokenREST) Destroy() {}

// GroupVersionKind returns the kind TokenRequest.
func (r *tokenREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return tokenRequestKind
}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate makes k8s.io/apiserver keep the uid in a request. It is
// a precondition on the service account.
func (r *tokenREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create issues a token for the service account in the path of the request.
func (r *tokenREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	request := obj.(*authenticationv1.TokenRequest)
	if errs := validateTokenMeta(ctx, request, name); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenRequestKind.GroupKind(), name, errs)
	}
	found, err := r.accounts.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	account := found.(*corev1.ServiceAccount)
	if request.UID != "" && request.UID != account.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: tokenRequestKind.Group, Resource: tokenRequestKind.Kind}, name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", request.UID, account.UID))
	}
	request.Name, request.Namespace, request.UID = account.Name, account.Namespace, account.UID
	request.CreationTimestamp = metav1.Now()
	if len(request.Spec.Audiences) == 0 {
		request.Spec.Audiences = slices.Clone(r.audiences)
	}
	// The server ignores a status in the request, so admission must not get the status either.
	request.Status = authenticationv1.TokenRequestStatus{}
	if errs := tokenRequest(request); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenRequestKind.GroupKind(), "", errs)
	}
	if validate != nil {
		if err := validate(ctx, request.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	bound, err := r.bound(ctx, account, &request.Spec)
	if err != nil {
		return nil, err
	}
	if err := r.issuer.IssueToken(ctx, account, request, bound...); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	return request, nil
}

// validateTokenMeta checks that the name and the namespace in a request, if set, are the same as in the path of the
// request.
func validateTokenMeta(ctx context.Context, request *authenticationv1.TokenRequest, name string) field.ErrorList {
	path, namespace := field.NewPath("metadata"), genericapirequest.NamespaceValue(ctx)
	if request.Name != "" && request.Name != name {
		return field.ErrorList{field.Invalid(path.Child("name"), request.Name, "must match the service account name if specified")}
	}
	if request.Namespace != "" && request.Namespace != namespace {
		return field.ErrorList{field.Invalid(path.Child("namespace"), request.Namespace, "must match the service account namespace if specified")}
	}
	return nil
}

// bound returns the object to which the token is bound. If the object is a pod that has a node, bound also returns the
// node.
func (r *tokenREST) bound(ctx context.Context, account *corev1.ServiceAccount, spec *authenticationv1.TokenRequestSpec) ([]runtime.Object, error) {
	ref := spec.BoundObjectRef
	if ref == nil {
		return nil, nil
	}
	var bound []runtime.Object
	var err error
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	switch {
	case gvk.Group == "" && gvk.Kind == "Pod":
		bound, err = r.boundPod(ctx, account, ref.Name)
	case gvk.Group == "" && gvk.Kind == "Secret":
		bound, err = one(getOther(ctx, r.secrets, "secrets", genericapirequest.NamespaceValue(ctx), ref.Name))
	case gvk.Group == "" && gvk.Kind == "Node":
		bound, err = one(getOther(ctx, r.nodes, "nodes", "", ref.Name))
	case isWebhookConfiguration(gvk):
		bound, err = one(r.boundConfiguration(ctx, account, spec))
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk.String()))
	}
	if err != nil {
		return nil, err
	}
	if ref.UID != "" && ref.UID != registry.MetaOf(bound[0]).GetUID() {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return bound, nil
}

func (r *tokenREST) boundPod(ctx context.Context, account *corev1.ServiceAccount, name string) ([]runtime.Object, error) {
	objects, err := one(getOther(ctx, r.pods, "pods", account.Namespace, name))
	if err != nil {
		return nil, err
	}
	pod := objects[0].(*corev1.Pod)
	if pod.Spec.ServiceAccountName != account.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", account.Name))
	}
	if pod.Spec.NodeName == "" {
		return objects, nil
	}
	node, err := getOther(ctx, r.nodes, "nodes", "", pod.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		// If the node doesn't exist, the token has the node's name but no uid.
		node, err = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}, nil
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return append(objects, node), nil
}

func one(obj runtime.Object, err error) ([]runtime.Object, error) {
	return []runtime.Object{obj}, err
}

// getOther reads an object of another resource. Its errors name that resource.
func getOther(ctx context.Context, from rest.Getter, resource, namespace, name string) (runtime.Object, error) {
	ctx = genericapirequest.WithRequestInfo(genericapirequest.WithNamespace(ctx, namespace), &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "get", APIVersion: "v1", Resource: resource, Namespace: namespace, Name: name,
		Parts: []string{resource, name},
	})
	return from.Get(ctx, name, &metav1.GetOptions{})
}
