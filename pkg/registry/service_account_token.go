package registry

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// TokenIssuer signs service account tokens.
type TokenIssuer interface {
	// IssueToken fills in what the request's spec leaves out, and its status. Bound
	// are the objects that the token ends with.
	IssueToken(ctx context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest, bound ...runtime.Object) error
}

// tokenREST serves serviceaccounts/token (KEP-1205, bound service account tokens).
type tokenREST struct {
	accounts, pods, secrets, nodes rest.Getter
	issuer                         TokenIssuer
}

var (
	_ rest.NamedCreater             = &tokenREST{}
	_ rest.GroupVersionKindProvider = &tokenREST{}
)

func newToken(accounts *Storage, deps Dependencies) (rest.Storage, error) {
	r := &tokenREST{accounts: accounts, issuer: deps.Tokens}
	for resource, getter := range map[string]*rest.Getter{"pods": &r.pods, "secrets": &r.secrets, "nodes": &r.nodes} {
		store, err := deps.storeOf(corev1.Resource(resource))
		if err != nil {
			return nil, err
		}
		*getter = store
	}
	return r, nil
}

func (r *tokenREST) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy does nothing: the stores are those of their rows.
func (r *tokenREST) Destroy() {}

// GroupVersionKind is the TokenRequest's, whose group isn't that of the account.
func (r *tokenREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")
}

// Create issues a token for the service account of the given name.
func (r *tokenREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	request := obj.(*authenticationv1.TokenRequest)
	found, err := r.accounts.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	account := found.(*corev1.ServiceAccount)
	if err := nameTokenRequest(ctx, request, account); err != nil {
		return nil, err
	}
	// What the caller says of the outcome counts for nothing, nor for admission.
	request.Status = authenticationv1.TokenRequestStatus{}
	request.CreationTimestamp = metav1.Now()
	if validate != nil {
		if err := validate(ctx, request.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if errs := validation.TokenRequest(request); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", errs)
	}
	bound, err := r.bound(ctx, account, request.Spec.BoundObjectRef)
	if err != nil {
		return nil, err
	}
	if err := r.issuer.IssueToken(ctx, account, request, bound...); err != nil {
		return nil, fmt.Errorf("failed to generate token: %w", err)
	}
	return request, nil
}

// nameTokenRequest makes the request's metadata that of the account.
func nameTokenRequest(ctx context.Context, request *authenticationv1.TokenRequest, account *corev1.ServiceAccount) error {
	if request.Name == "" {
		request.Name = account.Name
	} else if request.Name != account.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("metadata.name does not match the service account name in the request: %q and %q", request.Name, account.Name))
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	if request.Namespace == "" {
		request.Namespace = namespace
	} else if request.Namespace != namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("namespace of the token request doesn't match that of the request: %q and %q", request.Namespace, namespace))
	}
	return nil
}

// bound finds the object that the token is to end with, and for a pod its node.
func (r *tokenREST) bound(ctx context.Context, account *corev1.ServiceAccount, ref *authenticationv1.BoundObjectReference) ([]runtime.Object, error) {
	if ref == nil {
		return nil, nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	switch {
	case gvk.Group == "" && gvk.Kind == "Pod":
		return r.boundPod(ctx, account, ref)
	case gvk.Group == "" && gvk.Kind == "Secret":
		return boundTo(r.secrets.Get(ctx, ref.Name, &metav1.GetOptions{}))(ref.UID)
	case gvk.Group == "" && gvk.Kind == "Node":
		return boundTo(r.nodes.Get(genericapirequest.WithNamespace(ctx, ""), ref.Name, &metav1.GetOptions{}))(ref.UID)
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk.String()))
}

func (r *tokenREST) boundPod(ctx context.Context, account *corev1.ServiceAccount, ref *authenticationv1.BoundObjectReference) ([]runtime.Object, error) {
	objects, err := boundTo(r.pods.Get(ctx, ref.Name, &metav1.GetOptions{}))(ref.UID)
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
	node, err := r.nodes.Get(genericapirequest.WithNamespace(ctx, ""), pod.Spec.NodeName, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		// The token names the node, with or without its uid.
		node, err = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}, nil
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return append(objects, node), nil
}

// boundTo checks that an object is the one that a reference means.
func boundTo(obj runtime.Object, err error) func(types.UID) ([]runtime.Object, error) {
	return func(uid types.UID) ([]runtime.Object, error) {
		if err != nil {
			return nil, err
		}
		m := objectMeta(obj)
		if uid != "" && uid != m.GetUID() {
			return nil, apierrors.NewConflict(schema.GroupResource{}, m.GetName(),
				fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", uid))
		}
		return []runtime.Object{obj}, nil
	}
}
