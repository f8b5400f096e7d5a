package daemonset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/revisions"
)

const hashLabel = appsv1.DefaultDaemonSetUniqueLabelKey

// findRevision finds the revision of the DaemonSet's template, whose hash new pods have as a label, and returns the old
// revisions. It creates the revision if the history lacks it. An earlier revision of the template gets the next number.
func (r *rollout) findRevision(ctx context.Context, pods []*corev1.Pod) (old []*appsv1.ControllerRevision, err error) {
	history, err := r.history.Claim(ctx, r.claimant)
	if err != nil {
		return nil, err
	}
	data, err := revisions.Data(&r.set.Spec.Template)
	if err != nil {
		return nil, err
	}
	var present []*appsv1.ControllerRevision
	next := int64(1)
	for _, revision := range history {
		if bytes.Equal(revision.Data.Raw, data) {
			present = append(present, revision)
		} else {
			old, next = append(old, revision), max(next, revision.Revision+1)
		}
	}
	if len(present) == 0 {
		created, err := r.createRevision(ctx, next, data)
		if err == nil {
			r.hash = created.Labels[hashLabel]
		}
		return old, err
	}
	latest := present[len(present)-1]
	r.hash = latest.Labels[hashLabel]
	if latest.Revision < next {
		if _, err := r.history.Renumber(ctx, latest, next); err != nil {
			return nil, err
		}
	}
	return old, r.merge(ctx, present[:len(present)-1], pods)
}

// merge deletes further revisions of the present template. Their pods get the label of the one that stays.
func (r *rollout) merge(ctx context.Context, same []*appsv1.ControllerRevision, pods []*corev1.Pod) error {
	if len(same) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{hashLabel: r.hash}}})
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Labels[hashLabel] == r.hash {
			continue
		}
		if _, err := r.Pods.Client.Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	for _, revision := range same {
		if err := r.history.Delete(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// createRevision creates the ControllerRevision of the present template. Its name has a hash. If another one has the name,
// the collision is counted in the status, which changes the hash.
func (r *rollout) createRevision(ctx context.Context, number int64, data []byte) (*appsv1.ControllerRevision, error) {
	hash, err := owned.TemplateHash(&r.set.Spec.Template, r.set.Status.CollisionCount)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(r.set.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hashLabel] = hash
	client := r.Client.ControllerRevisions(r.set.Namespace)
	created, err := client.Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.set.Name + "-" + hash, Namespace: r.set.Namespace, Labels: labels, Annotations: r.set.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.set, kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	existing, err := client.Get(ctx, r.set.Name+"-"+hash, metav1.GetOptions{})
	if err != nil || bytes.Equal(existing.Data.Raw, data) {
		return existing, err
	}
	changed := r.set.DeepCopy()
	collisions := int32(1)
	if n := changed.Status.CollisionCount; n != nil {
		collisions += *n
	}
	changed.Status.CollisionCount = &collisions
	if _, err := r.Client.DaemonSets(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("another ControllerRevision has the name %s", existing.Name)
}

// deleteHistory deletes the first revisions that no pod has, so that the rest fits the limit.
func (r *rollout) deleteHistory(ctx context.Context, pods []*corev1.Pod, old []*appsv1.ControllerRevision) error {
	surplus := len(old) - int(*r.set.Spec.RevisionHistoryLimit)
	for _, revision := range old {
		if surplus <= 0 {
			return nil
		}
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Labels[hashLabel] == revision.Labels[hashLabel] }) {
			continue
		}
		if err := r.history.Delete(ctx, revision); err != nil {
			return err
		}
		surplus--
	}
	return nil
}
