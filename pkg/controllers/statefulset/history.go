package statefulset

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/miniapi-dev/miniapi/pkg/controllers/revisions"
)

const (
	// hashLabel is the label of a ControllerRevision with the hash of its content.
	hashLabel = "controller.kubernetes.io/hash"
	// maxPrefix is the largest length of a StatefulSet's name in the names of its revisions.
	maxPrefix = 223
)

// revision is a ControllerRevision with its decoded template.
type revision struct {
	*appsv1.ControllerRevision
	template *corev1.PodTemplateSpec
}

// findRevisions finds the current revision and the next one, which is of the StatefulSet's present template. It creates the
// next one if the history, which is sorted, lacks it. An earlier revision of the template gets the next number.
func (u *update) findRevisions(ctx context.Context, history []*appsv1.ControllerRevision) error {
	collisions := new(int32(0))
	if n := u.set.Status.CollisionCount; n != nil {
		*collisions = *n
	}
	u.status.CollisionCount = collisions
	data, err := revisions.Data(&u.set.Spec.Template)
	if err != nil {
		return err
	}
	next, err := u.nextRevision(ctx, history, data)
	if err != nil {
		return err
	}
	u.next = &revision{next, &u.set.Spec.Template}
	u.current = u.next
	if i := slices.IndexFunc(history, func(r *appsv1.ControllerRevision) bool { return r.Name == u.set.Status.CurrentRevision }); i >= 0 && history[i].Name != next.Name {
		template, err := revisions.Template(history[i])
		if err != nil {
			return err
		}
		u.current = &revision{history[i], template}
	}
	return nil
}

func (u *update) nextRevision(ctx context.Context, history []*appsv1.ControllerRevision, data []byte) (*appsv1.ControllerRevision, error) {
	if len(history) == 0 {
		return u.createRevision(ctx, 1, data)
	}
	latest := history[len(history)-1]
	for _, earlier := range slices.Backward(history) {
		switch {
		case !bytes.Equal(earlier.Data.Raw, data):
		case bytes.Equal(latest.Data.Raw, data):
			return latest, nil
		default:
			return u.history.Renumber(ctx, earlier, latest.Revision+1)
		}
	}
	// An older version of Kubernetes may have written the same template in other bytes.
	if template, err := revisions.Template(latest); err == nil && equality.Semantic.DeepEqual(*template, u.set.Spec.Template) {
		return latest, nil
	}
	return u.createRevision(ctx, latest.Revision+1, data)
}

// createRevision creates a ControllerRevision of the StatefulSet's template. Its name has a hash. As long as another one has
// the name, the number of collisions changes the hash.
func (u *update) createRevision(ctx context.Context, number int64, data []byte) (*appsv1.ControllerRevision, error) {
	client := u.Client.ControllerRevisions(u.set.Namespace)
	created := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.set.Namespace, Labels: maps.Clone(u.set.Spec.Template.Labels), Annotations: maps.Clone(u.set.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(u.set, kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
	if created.Labels == nil {
		created.Labels = map[string]string{}
	}
	created.Labels[hashLabel] = hashOf(data, *u.status.CollisionCount)
	for {
		created.Name = u.set.Name[:min(len(u.set.Name), maxPrefix)] + "-" + hashOf(data, *u.status.CollisionCount)
		written, err := client.Create(ctx, created, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return written, err
		}
		existing, err := client.Get(ctx, created.Name, metav1.GetOptions{})
		if err != nil || bytes.Equal(existing.Data.Raw, data) {
			return existing, err
		}
		*u.status.CollisionCount++
	}
}

// hashOf returns the hash of a ControllerRevision's content, as kube-controller-manager computes it for a name.
func hashOf(data []byte, collisions int32) string {
	hash := fnv.New32()
	_, _ = hash.Write(strconv.AppendInt(slices.Clip(data), int64(collisions), 10)) // a hash has no errors
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// deleteHistory deletes the first revisions that neither the StatefulSet nor a pod has, so that the rest fits the limit.
func (u *update) deleteHistory(ctx context.Context, pods []*corev1.Pod, history []*appsv1.ControllerRevision) error {
	if u.current == nil {
		return nil // the step has failed before it knew which revisions the StatefulSet has
	}
	used := map[string]bool{u.current.Name: true, u.next.Name: true}
	for _, pod := range pods {
		used[pod.Labels[appsv1.StatefulSetRevisionLabel]] = true
	}
	unused := slices.DeleteFunc(slices.Clone(history), func(r *appsv1.ControllerRevision) bool { return used[r.Name] })
	for _, revision := range unused[:max(0, len(unused)-int(*u.set.Spec.RevisionHistoryLimit))] {
		if err := u.history.Delete(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}
