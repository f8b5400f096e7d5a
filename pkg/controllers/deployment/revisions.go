package deployment

import (
	"context"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// The annotations by which a Deployment and its ReplicaSets know their revisions and sizes.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// historyAnnotation has the earlier revisions of a ReplicaSet to which a Deployment was rolled back.
	historyAnnotation = "deployment.kubernetes.io/revision-history"
	// desiredAnnotation and maxAnnotation have the numbers of pods that the Deployment wanted, and allowed, when it
	// scaled the ReplicaSet.
	desiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation     = "deployment.kubernetes.io/max-replicas"

	// maxHistory is the largest length of historyAnnotation.
	maxHistory = 2000
)

// uncopied are the annotations that a Deployment and a ReplicaSet have of their own.
var uncopied = []string{
	corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation, appsv1.DeprecatedRollbackTo,
}

// revision returns the revision of a ReplicaSet. A ReplicaSet without a revision has revision 0.
func revision(set *appsv1.ReplicaSet) (revision int64, valid bool) {
	value := set.Annotations[revisionAnnotation]
	if value == "" {
		return 0, true
	}
	revision, err := strconv.ParseInt(value, 10, 64)
	return revision, err == nil
}

func latestRevision(sets []*appsv1.ReplicaSet) (latest int64) {
	for _, set := range sets {
		if revision, valid := revision(set); valid {
			latest = max(latest, revision)
		}
	}
	return latest
}

// annotate copies the annotations of a Deployment to a ReplicaSet, and gives it the revision if its own is earlier. It
// reports whether the annotations have changed.
func annotate(set *appsv1.ReplicaSet, d *appsv1.Deployment, next int64) (changed bool) {
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	for key, value := range d.Annotations {
		if present, has := set.Annotations[key]; !slices.Contains(uncopied, key) && (!has || present != value) {
			set.Annotations[key] = value
			changed = true
		}
	}
	present, valid := revision(set)
	if !valid {
		return false // the user's annotation stays
	}
	if present >= next {
		return changed
	}
	if before, has := set.Annotations[revisionAnnotation]; has {
		set.Annotations[historyAnnotation] = remember(set.Annotations[historyAnnotation], before)
	}
	set.Annotations[revisionAnnotation] = strconv.FormatInt(next, 10)
	return true
}

// remember adds a revision to a history of revisions. The oldest revisions are dropped if the history is too long.
func remember(history, revision string) string {
	if history == "" {
		return revision
	}
	history += "," + revision
	for len(history) > maxHistory {
		_, history, _ = strings.Cut(history, ",")
	}
	return history
}

// setReplicaAnnotations notes the sizes of a Deployment on a ReplicaSet, and reports whether they have changed.
func setReplicaAnnotations(set *appsv1.ReplicaSet, d *appsv1.Deployment) (changed bool) {
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	for key, n := range map[string]int32{desiredAnnotation: *d.Spec.Replicas, maxAnnotation: *d.Spec.Replicas + maxSurge(d)} {
		if value := strconv.Itoa(int(n)); set.Annotations[key] != value {
			set.Annotations[key] = value
			changed = true
		}
	}
	return changed
}

// setRevision copies the revision of the newest ReplicaSet to the Deployment, and reports whether it has changed.
func (r *rollout) setRevision(newest *appsv1.ReplicaSet) bool {
	revision := newest.Annotations[revisionAnnotation]
	if r.d.Annotations == nil {
		r.d.Annotations = map[string]string{}
	}
	if r.d.Annotations[revisionAnnotation] == revision {
		return false
	}
	r.d.Annotations[revisionAnnotation] = revision
	return true
}

// deleteOld deletes the oldest ReplicaSets without pods, so that the rest fits the limit of the history.
func (r *rollout) deleteOld(ctx context.Context) error {
	if !hasHistoryLimit(r.d) {
		return nil
	}
	old := slices.DeleteFunc(slices.Clone(r.old), func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp != nil })
	slices.SortStableFunc(old, byRevision)
	for _, set := range old[:max(0, len(old)-int(*r.d.Spec.RevisionHistoryLimit))] {
		if set.Status.Replicas != 0 || *set.Spec.Replicas != 0 || set.Generation > set.Status.ObservedGeneration {
			continue
		}
		if err := work.IgnoreGone(r.Client.ReplicaSets(set.Namespace).Delete(ctx, set.Name, metav1.DeleteOptions{})); err != nil {
			return err
		}
	}
	return nil
}

func byRevision(a, b *appsv1.ReplicaSet) int {
	revisionA, validA := revision(a)
	revisionB, validB := revision(b)
	if validA && validB && revisionA != revisionB {
		return int(min(max(revisionA-revisionB, -1), 1))
	}
	return older(a, b)
}
