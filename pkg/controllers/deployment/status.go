package deployment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the condition Progressing on which later decisions depend.
const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
)

func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

func hasHistoryLimit(d *appsv1.Deployment) bool {
	return d.Spec.RevisionHistoryLimit != nil && *d.Spec.RevisionHistoryLimit != math.MaxInt32
}

func newCondition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) appsv1.DeploymentCondition {
	now := metav1.Now()
	return appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now}
}

// condition returns a condition of a status, or nil if the status lacks it.
func condition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &status.Conditions[i]
}

// setCondition sets a condition, unless the status has it with the same reason. The condition becomes the last one.
func setCondition(status *appsv1.DeploymentStatus, c appsv1.DeploymentCondition) {
	if present := condition(status, c.Type); present != nil && present.Status == c.Status {
		if present.Reason == c.Reason {
			return
		}
		c.LastTransitionTime = present.LastTransitionTime
	}
	removeCondition(status, c.Type)
	status.Conditions = append(status.Conditions, c)
}

// removeCondition removes a condition. Other statuses may share the conditions, so it makes new ones.
func removeCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) {
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}

// notePause notes in the condition Progressing that the Deployment is paused, or that it is resumed. The progress deadline
// begins again when it is resumed.
func (r *rollout) notePause(ctx context.Context) error {
	progressing := condition(&r.d.Status, appsv1.DeploymentProgressing)
	if !hasDeadline(r.d) || progressing != nil && progressing.Reason == reasonTimedOut {
		return nil
	}
	noted := progressing != nil && progressing.Reason == reasonPaused
	switch {
	case noted == r.d.Spec.Paused:
		return nil
	case r.d.Spec.Paused:
		setCondition(&r.d.Status, newCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused"))
	default:
		setCondition(&r.d.Status, newCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed"))
	}
	return r.persist(ctx)
}

// persist writes the status and the annotations of the Deployment.
func (r *rollout) persist(ctx context.Context) error {
	updated, err := r.Client.Deployments(r.d.Namespace).UpdateStatus(ctx, r.d, metav1.UpdateOptions{})
	if err == nil {
		r.d.ResourceVersion = updated.ResourceVersion
	}
	return err
}

func (r *rollout) writeStatus(ctx context.Context, status appsv1.DeploymentStatus) error {
	if equality.Semantic.DeepEqual(r.d.Status, status) {
		return nil
	}
	r.d.Status = status
	return r.persist(ctx)
}

// status returns the status before the changes of this step, without an estimate of the progress.
func (r *rollout) status() appsv1.DeploymentStatus {
	sets := r.all()
	status := appsv1.DeploymentStatus{
		ObservedGeneration:  r.d.Generation,
		Replicas:            sum(sets, func(set *appsv1.ReplicaSet) int32 { return set.Status.Replicas }),
		ReadyReplicas:       sum(sets, func(set *appsv1.ReplicaSet) int32 { return set.Status.ReadyReplicas }),
		AvailableReplicas:   sum(sets, available),
		TerminatingReplicas: terminating(sets),
		CollisionCount:      r.d.Status.CollisionCount,
		Conditions:          r.d.Status.Conditions,
	}
	if r.newest != nil {
		status.UpdatedReplicas = r.newest.Status.Replicas
	}
	status.UnavailableReplicas = max(0, sum(sets, wanted)-status.AvailableReplicas)
	isAvailable := newCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	if status.AvailableReplicas < minAvailable(r.d) {
		isAvailable = newCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	setCondition(&status, isAvailable)
	return status
}

// terminating returns the number of terminating pods, or nil if a ReplicaSet has a status without it.
func terminating(sets []*appsv1.ReplicaSet) *int32 {
	total := int32(0)
	for _, set := range sets {
		switch n := set.Status.TerminatingReplicas; {
		case n != nil:
			total += *n
		case set.Status.ObservedGeneration != 0:
			return nil
		}
	}
	return &total
}

// isComplete reports whether a status says that all pods are new and available.
func isComplete(d *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	size := *d.Spec.Replicas
	return status.UpdatedReplicas == size && status.Replicas == size && status.AvailableReplicas == size && status.ObservedGeneration >= d.Generation
}

// progresses reports whether new pods were made, pods have become ready or available, or old pods have gone.
func progresses(before, now *appsv1.DeploymentStatus) bool {
	return now.UpdatedReplicas > before.UpdatedReplicas || now.Replicas-now.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		now.ReadyReplicas > before.ReadyReplicas || now.AvailableReplicas > before.AvailableReplicas
}

// writeProgress writes the status with an estimate of the progress. It returns the time after which the progress deadline
// passes.
func (r *rollout) writeProgress(ctx context.Context) (time.Duration, error) {
	status := r.status()
	before := condition(&r.d.Status, appsv1.DeploymentProgressing)
	wasComplete := status.Replicas == status.UpdatedReplicas && before != nil && before.Reason == reasonAvailable
	switch {
	case !hasDeadline(r.d):
		removeCondition(&status, appsv1.DeploymentProgressing)
	case !wasComplete:
		r.estimate(&status, before)
	}
	if failure := r.failure(); failure != nil {
		setCondition(&status, *failure)
	} else {
		removeCondition(&status, appsv1.DeploymentReplicaFailure)
	}
	if !equality.Semantic.DeepEqual(r.d.Status, status) {
		return 0, r.writeStatus(ctx, status)
	}
	if !hasDeadline(r.d) || before == nil || before.Reason == reasonTimedOut || before.Reason == reasonAvailable || isComplete(r.d, &status) {
		return 0, nil
	}
	// A status has times in seconds, and a deadline that is passed by less than a millisecond isn't missed yet.
	return max(0, time.Until(r.deadline(before))) + time.Millisecond, nil
}

// deadline returns the time at which a rollout fails that hasn't progressed since a condition was written.
func (r *rollout) deadline(progressing *appsv1.DeploymentCondition) time.Time {
	return progressing.LastUpdateTime.Add(time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second)
}

// estimate sets the condition Progressing: a rollout is complete, progresses, or has missed its deadline.
func (r *rollout) estimate(status *appsv1.DeploymentStatus, before *appsv1.DeploymentCondition) {
	subject := fmt.Sprintf("Deployment %q", r.d.Name)
	if r.newest != nil {
		subject = fmt.Sprintf("ReplicaSet %q", r.newest.Name)
	}
	switch {
	case isComplete(r.d, status):
		setCondition(status, newCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonAvailable, subject+" has successfully progressed."))
	case progresses(&r.d.Status, status):
		progressing := newCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", subject+" is progressing.")
		if before != nil && before.Status == corev1.ConditionTrue {
			progressing.LastTransitionTime = before.LastTransitionTime
		}
		removeCondition(status, appsv1.DeploymentProgressing) // so that the time of the last update changes
		setCondition(status, progressing)
	case before != nil && before.Reason != reasonAvailable && (before.Reason == reasonTimedOut || r.deadline(before).Before(time.Now())):
		setCondition(status, newCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonTimedOut, subject+" has timed out progressing."))
	}
}

// failure returns the condition that a ReplicaSet can't create or delete pods, or nil if none has it. That of the newest
// ReplicaSet comes first.
func (r *rollout) failure() *appsv1.DeploymentCondition {
	sets := r.old
	if r.newest != nil {
		sets = append([]*appsv1.ReplicaSet{r.newest}, r.old...)
	}
	for _, set := range sets {
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				return &appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastUpdateTime: c.LastTransitionTime, LastTransitionTime: c.LastTransitionTime,
				}
			}
		}
	}
	return nil
}
