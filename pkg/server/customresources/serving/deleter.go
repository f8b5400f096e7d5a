package serving

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// deleter deletes custom resources in the stores of one server.
type deleter struct {
	finalizer.ListerCollectionDeleter
	use *use
}

// List implements rest.Lister.
func (d *deleter) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	return d.ListerCollectionDeleter.List(d.use.in(ctx), options)
}

// DeleteCollection implements rest.CollectionDeleter.
func (d *deleter) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *internalversion.ListOptions) (runtime.Object, error) {
	return d.ListerCollectionDeleter.DeleteCollection(d.use.in(ctx), validate, options, list)
}

// GetCustomResourceListerCollectionDeleter implements finalizer.CRClientGetter.
func (s *Server) GetCustomResourceListerCollectionDeleter(crd *apiextensionsv1.CustomResourceDefinition) (finalizer.ListerCollectionDeleter, error) {
	u, done := s.use(crd.Name, isShared)
	if u == nil {
		return s.Own.GetCustomResourceListerCollectionDeleter(crd)
	}
	defer done()
	inner, err := u.handler.GetCustomResourceListerCollectionDeleter(u.handler.definition)
	if err != nil {
		return nil, err
	}
	return &deleter{inner, u}, nil
}
