package deployment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// split returns the ReplicaSet with a template, and all others. If several have the template, the oldest one counts. It
// sorts the ReplicaSets by their age.
func split(template *corev1.PodTemplateSpec, sets []*appsv1.ReplicaSet) (newest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) {
	slices.SortFunc(sets, older)
	for _, set := range sets {
		if newest == nil && hasTemplate(set, template) {
			newest = set
		} else {
			old = append(old, set)
		}
	}
	return newest, old
}

func older(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// hasTemplate reports whether a ReplicaSet has the template of its Deployment. The ReplicaSet also has the template's hash
// as a label.
func hasTemplate(set *appsv1.ReplicaSet, template *corev1.PodTemplateSpec) bool {
	a, b := set.Spec.Template, *template
	a.Labels, b.Labels = withoutHash(a.Labels), withoutHash(b.Labels)
	return equality.Semantic.DeepEqual(a, b)
}

func withoutHash(labels map[string]string) map[string]string {
	if _, has := labels[appsv1.DefaultDeploymentUniqueLabelKey]; !has {
		return labels
	}
	labels = maps.Clone(labels)
	delete(labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return labels
}

// syncNewest copies the annotations and minReadySeconds of the Deployment to its newest ReplicaSet, which gets the next
// revision. If the ReplicaSet has them, syncNewest copies the revision to the Deployment.
func (r *rollout) syncNewest(ctx context.Context) error {
	set := r.newest.DeepCopy()
	changed := annotate(set, r.d, latestRevision(r.old)+1)
	if changed || set.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds {
		set.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
		updated, err := r.Client.ReplicaSets(set.Namespace).Update(ctx, set, metav1.UpdateOptions{})
		if err == nil {
			r.newest = updated
		}
		return err
	}
	changed = r.setRevision(set)
	if hasDeadline(r.d) && condition(&r.d.Status, appsv1.DeploymentProgressing) == nil {
		setCondition(&r.d.Status, newCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", set.Name)))
		changed = true
	}
	if changed {
		return r.persist(ctx)
	}
	return nil
}

// create creates the newest ReplicaSet, if it doesn't exist.
func (r *rollout) create(ctx context.Context) error {
	if r.newest != nil {
		return nil
	}
	set, err := r.newSet()
	if err != nil {
		return err
	}
	created, err := r.Client.ReplicaSets(set.Namespace).Create(ctx, set, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.collide(ctx, set.Name)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case err != nil:
		message := fmt.Sprintf("Failed to create new replica set %q: %v", set.Name, err)
		if hasDeadline(r.d) {
			setCondition(&r.d.Status, newCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", message))
			_ = r.persist(ctx) // the error of the creation is more important
		}
		r.Events.Warn(r.d, "ReplicaSetCreateError", "%s", message)
		return err
	}
	r.newest = created
	if n := *created.Spec.Replicas; n > 0 {
		r.Events.Tell(r.d, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", created.Name, n)
	}
	changed := r.setRevision(created)
	if hasDeadline(r.d) {
		setCondition(&r.d.Status, newCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", created.Name)))
		changed = true
	}
	if changed {
		return r.persist(ctx)
	}
	return nil
}

// collide makes a ReplicaSet that exists the newest one, if it has the Deployment's template. Otherwise its name is a
// collision of hashes: collide counts it in the status, so that the next name differs.
func (r *rollout) collide(ctx context.Context, name string) error {
	set, err := r.Client.ReplicaSets(r.d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(set, r.d) && hasTemplate(set, &r.d.Spec.Template) {
		r.newest = set
		if r.setRevision(set) {
			return r.persist(ctx)
		}
		return nil
	}
	collisions := int32(1)
	if r.d.Status.CollisionCount != nil {
		collisions += *r.d.Status.CollisionCount
	}
	r.d.Status.CollisionCount = &collisions
	return cmp.Or(r.persist(ctx), fmt.Errorf("another ReplicaSet has the name %s", name))
}

// newSet returns the ReplicaSet of the Deployment's template. The name is determined by the template, so that the ReplicaSet
// isn't created twice.
func (r *rollout) newSet() (*appsv1.ReplicaSet, error) {
	d := r.d
	hash, err := owned.TemplateHash(&d.Spec.Template, d.Status.CollisionCount)
	if err != nil {
		return nil, err
	}
	prefix := d.Name[:min(len(d.Name), validation.DNS1123SubdomainMaxLength-len("-")-len(hash))]
	template := *d.Spec.Template.DeepCopy()
	template.Labels = withHash(template.Labels, hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels, hash)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: prefix + "-" + hash, Namespace: d.Namespace, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), MinReadySeconds: d.Spec.MinReadySeconds, Selector: selector, Template: template},
	}
	set.Spec.Replicas = new(r.replicasOf(set))
	annotate(set, d, latestRevision(r.old)+1)
	setReplicaAnnotations(set, d)
	return set, nil
}

func withHash(labels map[string]string, hash string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return labels
}
