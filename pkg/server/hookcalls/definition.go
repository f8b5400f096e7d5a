package hookcalls

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/definition"
)

// fieldManager is the manager of the fields of ExtensionConfig's definition. A definition of another field manager
// stays unchanged.
const fieldManager = "miniapi-runtime-hooks"

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// define applies the definition of ExtensionConfig, unless a definition from another source, such as Cluster API,
// exists.
func (h *Hooks) define(ctx context.Context) error {
	own, err := definition.Converted(map[string]any{
		"service": map[string]any{"namespace": metav1.NamespaceDefault, "name": "kubernetes", "path": conversionPath},
	})
	if err != nil {
		return err
	}
	client := h.config.Dynamic.Resource(definitions)
	stored, err := client.Get(ctx, definition.Name, metav1.GetOptions{})
	if err == nil {
		for _, fields := range stored.GetManagedFields() {
			if fields.Operation == metav1.ManagedFieldsOperationUpdate && fields.Subresource == "" || fields.Operation == metav1.ManagedFieldsOperationApply && fields.Manager != fieldManager {
				return nil
			}
		}
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = client.Apply(ctx, definition.Name, own, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}
