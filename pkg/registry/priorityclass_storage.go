package registry

import (
	"context"
	"errors"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// priorityClassStorage keeps the classes of the system's own pods, which every cluster
// has (KEP-268). A deletion of the collection takes them along: they are made at the
// next start.
type priorityClassStorage struct{ *Storage }

var _ rest.StandardStorage = &priorityClassStorage{}

func newPriorityClassStorage(main *Storage, _ Dependencies) (rest.Storage, error) {
	return &priorityClassStorage{main}, nil
}

// Delete deletes a class that isn't the system's.
func (p *priorityClassStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if validation.IsSystemPriorityClass(name) {
		return nil, false, apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), name,
			errors.New("this is a system priority class and cannot be deleted"))
	}
	return p.Storage.Delete(ctx, name, validate, options)
}
