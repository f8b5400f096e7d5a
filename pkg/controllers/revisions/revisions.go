// Package revisions is the history of StatefulSets and DaemonSets: a ControllerRevision has the pod template of each of
// their revisions.
//
// A Deployment has no such history; its ReplicaSets have the templates.
package revisions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// History reads and writes ControllerRevisions. The informer must be indexed (see owned.Index).
type History struct {
	Client   appsv1client.ControllerRevisionsGetter
	Informer cache.SharedIndexInformer
}

// Claim adopts and releases ControllerRevisions, and returns those of the claimant's owner from the first revision to the
// latest. They are shared, and must not be changed.
func (h History) Claim(ctx context.Context, claimant owned.Claimant) ([]*appsv1.ControllerRevision, error) {
	claimant.Patch = func(ctx context.Context, name string, patch []byte) error {
		_, err := h.Client.ControllerRevisions(claimant.Owner.GetNamespace()).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	claimed, err := owned.Claim(ctx, claimant, owned.Candidates[*appsv1.ControllerRevision](h.Informer, claimant.Owner))
	slices.SortFunc(claimed, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return claimed, err
}

// Renumber gives a ControllerRevision another number, and returns the written one.
func (h History) Renumber(ctx context.Context, revision *appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	revision = revision.DeepCopy()
	revision.Revision = number
	return h.Client.ControllerRevisions(revision.Namespace).Update(ctx, revision, metav1.UpdateOptions{})
}

// Delete deletes a ControllerRevision.
func (h History) Delete(ctx context.Context, revision *appsv1.ControllerRevision) error {
	return work.IgnoreGone(h.Client.ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{}))
}

// Data returns the content of a ControllerRevision: a strategic merge patch that replaces the template of the owner.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
	fields["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
}

// Template returns the template in a ControllerRevision.
func Template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var patch struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &patch); err != nil {
		return nil, fmt.Errorf("the data of ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return &patch.Spec.Template, nil
}
