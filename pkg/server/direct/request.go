package direct

import (
	"context"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// FieldManager is the field manager of the server's own writes.
const FieldManager = "kube-apiserver"

// Place is the kind, the namespace and the name of an object.
type Place struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// Resource guesses the resource from the name of the kind.
func (p Place) Resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(p.Kind)
	return plural
}

// asServer returns the context of a request of the server for the object.
func (p Place) asServer(ctx context.Context, verb string) context.Context {
	resource := p.Resource()
	return AsServer(ctx, request.RequestInfo{
		Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
		Namespace: p.Namespace, Name: p.Name,
	})
}

// AsServer returns the context of a request that the server itself makes for a resource.
func AsServer(ctx context.Context, info request.RequestInfo) context.Context {
	info.IsResourceRequest = true
	ctx = request.WithNamespace(ctx, info.Namespace)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.AllAuthenticated, user.SystemPrivilegedGroup}})
	return request.WithRequestInfo(ctx, &info)
}

// NewFieldManager returns a field manager for a kind, or for a subresource of the kind. It is the same as in the
// request handlers of k8s.io/apiserver. The store is the storage of the resource or of the subresource.
func NewFieldManager(scheme *runtime.Scheme, converter managedfields.TypeConverter, kind schema.GroupVersionKind, subresource string, store any) (*managedfields.FieldManager, error) {
	var filter map[fieldpath.APIVersion]fieldpath.Filter
	if strategy, ok := store.(rest.ResetFieldsStrategy); ok {
		filter = fieldpath.NewExcludeFilterSetMap(strategy.GetResetFields())
	}
	return managedfields.NewDefaultFieldManager(converter, runtime.UnsafeObjectConvertor(scheme), scheme, scheme,
		kind, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}, subresource, filter)
}

// CopyStatus copies the status of a FlowSchema or a ServiceCIDR. The server creates these objects with a status, but a
// create request drops it. CopyStatus returns false for objects of other kinds.
func CopyStatus(from, to runtime.Object) bool {
	switch to := to.(type) {
	case *flowcontrolv1.FlowSchema:
		to.Status = *from.(*flowcontrolv1.FlowSchema).Status.DeepCopy()
	case *networkingv1.ServiceCIDR:
		to.Status = *from.(*networkingv1.ServiceCIDR).Status.DeepCopy()
	default:
		return false
	}
	return true
}
