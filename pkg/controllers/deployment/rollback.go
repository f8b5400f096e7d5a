package deployment

import (
	"context"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rollbackTo returns the revision to which the Deployment is to be rolled back. The server makes the annotation from a
// field of extensions/v1beta1; kubectl rollout undo changes the template itself.
func rollbackTo(d *appsv1.Deployment) (revision int64, wanted bool) {
	revision, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}

// rollback gives the Deployment the template and the annotations of a revision, or of the last but one for revision 0. Then
// the annotation that asks for it is removed.
func (r *rollout) rollback(ctx context.Context, to int64) error {
	if err := r.create(ctx); err != nil {
		return err
	}
	sets := r.all()
	reason := "Unable to find the revision to rollback to."
	if to == 0 {
		to, reason = lastButOne(sets), "Unable to find last revision."
	}
	i := slices.IndexFunc(sets, func(set *appsv1.ReplicaSet) bool {
		revision, valid := revision(set)
		return valid && revision == to
	})
	d := r.d.DeepCopy()
	delete(d.Annotations, appsv1.DeprecatedRollbackTo)
	restored := false
	switch {
	case to == 0 || i < 0:
		r.Events.Warn(r.d, "DeploymentRollbackRevisionNotFound", "%s", reason)
	case hasTemplate(sets[i], &d.Spec.Template):
		r.Events.Warn(r.d, "DeploymentRollbackTemplateUnchanged", "The rollback revision contains the same template as current deployment %q", d.Name)
	default:
		d.Spec.Template = *sets[i].Spec.Template.DeepCopy()
		d.Spec.Template.Labels = withoutHash(d.Spec.Template.Labels)
		maps.DeleteFunc(d.Annotations, func(key, _ string) bool { return !slices.Contains(uncopied, key) })
		for key, value := range sets[i].Annotations {
			if !slices.Contains(uncopied, key) {
				d.Annotations[key] = value
			}
		}
		restored = true
	}
	_, err := r.Client.Deployments(d.Namespace).Update(ctx, d, metav1.UpdateOptions{})
	if err == nil && restored {
		r.Events.Tell(r.d, "DeploymentRollback", "Rolled back deployment %q to revision %d", d.Name, to)
	}
	return err
}

// lastButOne returns the second of the latest revisions, or 0 if there is none.
func lastButOne(sets []*appsv1.ReplicaSet) int64 {
	var revisions []int64
	for _, set := range sets {
		if revision, valid := revision(set); valid {
			revisions = append(revisions, revision)
		}
	}
	slices.Sort(revisions)
	if len(revisions) < 2 {
		return 0
	}
	return revisions[len(revisions)-2]
}
