package owned

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Claimant is an owner that claims objects by their labels.
type Claimant struct {
	Owner    metav1.Object
	Kind     schema.GroupVersionKind
	Selector labels.Selector
	// Selects, if it isn't nil, also decides whether an object is selected.
	Selects func(metav1.Object) bool
	// Live reads the owner from the server. Claim calls it before the first adoption, because an owner that is being
	// deleted must not adopt objects.
	Live func(ctx context.Context) (metav1.Object, error)
	// Patch sends a strategic merge patch for an object.
	Patch func(ctx context.Context, name string, patch []byte) error
	// Finalizers are added to adopted objects, and removed from released ones.
	Finalizers []string
}

// Claim returns the objects that the claimant controls and selects. It adopts selected objects without a controller, and
// releases controlled objects that the selector doesn't match. It does neither if the claimant is being deleted. If some
// objects can't be adopted or released, the result has the others.
func Claim[T metav1.Object](ctx context.Context, c Claimant, objects []T) (claimed []T, err error) {
	var errs []error
	mayAdopt := sync.OnceValue(func() error { return c.mayAdopt(ctx) })
	for _, object := range objects {
		selected := c.Selector.Matches(labels.Set(object.GetLabels())) && (c.Selects == nil || c.Selects(object))
		controller := metav1.GetControllerOfNoCopy(object)
		switch {
		case controller != nil && controller.UID != c.Owner.GetUID():
		case controller != nil && selected:
			claimed = append(claimed, object)
		case c.Owner.GetDeletionTimestamp() != nil:
		case controller != nil:
			errs = append(errs, c.release(ctx, object))
		case selected && object.GetDeletionTimestamp() == nil && object.GetNamespace() == c.Owner.GetNamespace():
			err := mayAdopt()
			if err == nil {
				err = c.adopt(ctx, object)
			}
			if err == nil {
				claimed = append(claimed, object)
			} else if !apierrors.IsNotFound(err) {
				errs = append(errs, fmt.Errorf("adopting %s/%s: %w", object.GetNamespace(), object.GetName(), err))
			}
		}
	}
	return claimed, utilerrors.NewAggregate(errs)
}

func (c Claimant) mayAdopt(ctx context.Context) error {
	live, err := c.Live(ctx)
	switch {
	case err != nil:
		return err
	case live.GetUID() != c.Owner.GetUID():
		return fmt.Errorf("%s %s/%s has the UID %s, not %s: it was deleted and made again", c.Kind.Kind, live.GetNamespace(), live.GetName(), live.GetUID(), c.Owner.GetUID())
	case live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s %s/%s is being deleted since %s", c.Kind.Kind, live.GetNamespace(), live.GetName(), live.GetDeletionTimestamp())
	}
	return nil
}

// adopt makes the claimant the controller of an object. The UID in the patch makes it fail for another object of the same
// name.
func (c Claimant) adopt(ctx context.Context, object metav1.Object) error {
	return c.patch(ctx, object, map[string]any{
		"ownerReferences": []*metav1.OwnerReference{metav1.NewControllerRef(c.Owner, c.Kind)},
		"finalizers":      c.Finalizers,
	})
}

// release removes the claimant from the owners of an object. The request is invalid if the object has no owner any more,
// or if it was deleted and made again: then nothing is left to release.
func (c Claimant) release(ctx context.Context, object metav1.Object) error {
	err := c.patch(ctx, object, map[string]any{
		"ownerReferences":                     []map[string]any{{"$patch": "delete", "uid": c.Owner.GetUID()}},
		"$deleteFromPrimitiveList/finalizers": c.Finalizers,
	})
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// patch sends a patch of an object's metadata, without fields that have no value.
func (c Claimant) patch(ctx context.Context, object metav1.Object, metadata map[string]any) error {
	metadata["uid"] = object.GetUID()
	for field, value := range metadata {
		if list, ok := value.([]string); ok && len(list) == 0 {
			delete(metadata, field)
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return c.Patch(ctx, object.GetName(), patch)
}
