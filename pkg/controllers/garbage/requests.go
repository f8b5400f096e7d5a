package garbage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
)

var (
	// errMissed is the error if the server has no object with the requested identity.
	errMissed = errors.New("there is no such object")
	// errNamespacedOwner is the error for a reference from an object without a namespace to an owner in a
	// namespace.
	errNamespacedOwner = errors.New("an object without a namespace can't have an owner in a namespace")
)

func isGone(err error) bool { return errors.Is(err, errMissed) || apierrors.IsNotFound(err) }

// requests reads and writes the metadata of objects.
type requests struct {
	client    metadata.Interface
	resources *served.Resources
}

// of returns the client for the resource of an object, in the version of its identity. If that version isn't
// served, the client uses another version.
func (r *requests) of(id identity) (metadata.ResourceInterface, error) {
	kind := id.groupVersionKind()
	resource, namespaced, err := r.resources.ResourceOf(kind)
	if err != nil {
		resource, namespaced, err = r.resources.ResourceOf(r.resources.Preferred(kind))
	}
	if err != nil {
		return nil, err
	}
	if !namespaced {
		return r.client.Resource(resource), nil
	}
	if id.Namespace == "" {
		return nil, errNamespacedOwner
	}
	return r.client.Resource(resource).Namespace(id.Namespace), nil
}

// get reads an object from the server. If it doesn't exist, get returns errMissed.
func (r *requests) get(ctx context.Context, id identity) (*metav1.PartialObjectMetadata, error) {
	client, err := r.of(id)
	if err != nil {
		return nil, err
	}
	live, err := client.Get(ctx, id.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && live.UID != id.UID {
		return nil, errMissed
	}
	return live, err
}

// delete deletes an object, unless its owners have changed since it was read.
func (r *requests) delete(ctx context.Context, id identity, live *metav1.PartialObjectMetadata, policy metav1.DeletionPropagation) error {
	client, err := r.of(id)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion},
	}
	err = client.Delete(ctx, id.Name, options)
	if apierrors.IsConflict(err) {
		now, getErr := client.Get(ctx, id.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(getErr):
			return errMissed
		case getErr == nil && now.UID == live.UID && now.ResourceVersion != live.ResourceVersion && equality.Semantic.DeepEqual(now.OwnerReferences, live.OwnerReferences):
			// The object has changed, but its owners haven't. So the object is deleted at any resource
			// version.
			options.Preconditions.ResourceVersion = nil
			err = client.Delete(ctx, id.Name, options)
		}
	}
	if apierrors.IsNotFound(err) {
		return errMissed
	}
	return err
}

// metadataPatch is a merge patch of metadata. It fails if the object has changed since it was read.
type metadataPatch struct {
	Metadata struct {
		ResourceVersion string                   `json:"resourceVersion"`
		Finalizers      *[]string                `json:"finalizers,omitempty"`
		OwnerReferences *[]metav1.OwnerReference `json:"ownerReferences,omitempty"`
	} `json:"metadata"`
}

// removeFinalizer removes a finalizer from an object, if the object has it.
func (r *requests) removeFinalizer(ctx context.Context, id identity, finalizer string) error {
	client, err := r.of(id)
	if err != nil {
		return err
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := client.Get(ctx, id.Name, metav1.GetOptions{})
		if err != nil || live.UID != id.UID || !slices.Contains(live.Finalizers, finalizer) {
			return err
		}
		var patch metadataPatch
		left := slices.DeleteFunc(live.Finalizers, func(f string) bool { return f == finalizer })
		patch.Metadata.ResourceVersion, patch.Metadata.Finalizers = live.ResourceVersion, &left
		return r.patch(ctx, client, id.Name, types.MergePatchType, patch)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing finalizer %s: %w", finalizer, err)
	}
	return nil
}

// strategicPatch is a strategic merge patch of metadata. It fails if the object has another UID.
type strategicPatch struct {
	Metadata struct {
		UID             types.UID        `json:"uid"`
		OwnerReferences []map[string]any `json:"ownerReferences"`
	} `json:"metadata"`
}

// removeOwners removes the references to the owners from an object.
func (r *requests) removeOwners(ctx context.Context, id identity, owners []types.UID) error {
	var strategic strategicPatch
	for _, uid := range owners {
		strategic.Metadata.OwnerReferences = append(strategic.Metadata.OwnerReferences, map[string]any{"$patch": "delete", "uid": uid})
	}
	return r.patchOwners(ctx, id, strategic, func(references []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(references, func(o metav1.OwnerReference) bool { return slices.Contains(owners, o.UID) })
	})
}

// unblockOwners sets blockOwnerDeletion to false in each reference of an object that blocks an owner, or in all
// references of a custom resource. The object then no longer blocks the deletion of its owners.
func (r *requests) unblockOwners(ctx context.Context, n node) error {
	var strategic strategicPatch
	for _, o := range n.owners {
		if blocks(o) {
			strategic.Metadata.OwnerReferences = append(strategic.Metadata.OwnerReferences, map[string]any{
				"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": o.UID, "blockOwnerDeletion": false,
			})
		}
	}
	if strategic.Metadata.OwnerReferences == nil {
		return nil
	}
	return r.patchOwners(ctx, n.identity, strategic, func(references []metav1.OwnerReference) []metav1.OwnerReference {
		no := false
		for i := range references {
			references[i].BlockOwnerDeletion = &no
		}
		return references
	})
}

// patchOwners changes the owners of an object by a strategic merge patch. Custom resources don't support
// strategic merge patches. So for a custom resource, patchOwners reads the object and sends a merge patch.
func (r *requests) patchOwners(ctx context.Context, id identity, strategic strategicPatch, change func([]metav1.OwnerReference) []metav1.OwnerReference) error {
	client, err := r.of(id)
	if err != nil {
		return err
	}
	strategic.Metadata.UID = id.UID
	if err := r.patch(ctx, client, id.Name, types.StrategicMergePatchType, strategic); !apierrors.IsUnsupportedMediaType(err) {
		return err
	}
	live, err := r.get(ctx, id)
	if err != nil {
		return err
	}
	var patch metadataPatch
	left := change(live.OwnerReferences)
	patch.Metadata.ResourceVersion, patch.Metadata.OwnerReferences = live.ResourceVersion, &left
	return r.patch(ctx, client, id.Name, types.MergePatchType, patch)
}

func (r *requests) patch(ctx context.Context, client metadata.ResourceInterface, name string, kind types.PatchType, patch any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, kind, data, metav1.PatchOptions{})
	return err
}
