package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// outcome is the result of a cycle, which requests make known: the pod gets a node, or its status says why not.
type outcome struct {
	pod *podInfo
	// node is the chosen node. waited is the pod as it was in the queue.
	node   string
	waited *waiting
	// since is when the claims of the pod began to be bound, or zero. givenUp is a claim for which no volume can be made on
	// the node.
	since   time.Time
	givenUp string

	// The other fields are those of a pod that no node takes. nominated is the node for which it waits.
	reason, message, nominated string
	victims                    []*podInfo // to delete
	displaced                  []*podInfo // pods that wait for the same node no longer
	// again is true if, while the victims are being deleted, something has changed that may help the pod.
	again bool
}

// write makes the requests of a pod's outcome.
func (s *scheduler) write(ctx context.Context, uid types.UID) (time.Duration, error) {
	s.mu.Lock()
	o := s.outcomes[uid]
	s.mu.Unlock()
	if o == nil {
		return 0, nil
	}
	if o.node == "" {
		if err := s.explain(ctx, o); err != nil {
			return 0, err
		}
	} else if again, err := s.bind(ctx, o); again > 0 || err != nil {
		return again, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcomes[uid] == o {
		delete(s.outcomes, uid)
	}
	if w := s.queue.pods[uid]; o.again && w != nil {
		s.retry(w)
	}
	return 0, nil
}

// bind binds a pod, after its claims. If that fails, the pod is scheduled again. If the claims aren't bound yet, bind
// returns the time that they have left.
func (s *scheduler) bind(ctx context.Context, o *outcome) (again time.Duration, err error) {
	by := "running PreBind plugin " + strconv.Quote(volumeBinding)
	if again, err = s.bindClaims(ctx, o); err == nil && again > 0 {
		return again, nil
	}
	if err == nil {
		by = `running Bind plugin "DefaultBinder"`
		err = s.Client.Pods(o.pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.pod.Namespace, Name: o.pod.Name, UID: o.pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: o.node},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		s.events.tell(ctx, o.pod.Pod, nil, "Scheduled", "Binding", fmt.Sprintf("Successfully assigned %s/%s to %s", o.pod.Namespace, o.pod.Name, o.node))
		return 0, nil
	}
	if ctx.Err() != nil {
		return 0, err
	}
	s.bindingFailed(o, fmt.Errorf("%s: %w", by, err))
	return 0, nil
}

// bindingFailed lets a pod be scheduled again after an error.
func (s *scheduler) bindingFailed(o *outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if assumed := s.cluster.pods[o.pod.UID]; assumed != o.pod {
		return // the pod is bound already, or deleted
	}
	s.cluster.unassign(o.pod.UID)
	s.helpByPod(o.pod, nil)
	if apierrors.IsNotFound(err) {
		return
	}
	o.waited.podInfo = o.pod
	s.queue.pods[o.pod.UID] = o.waited
	s.queue.fail(o.waited)
	s.cycles.Add(struct{}{})
	s.record(&outcome{pod: o.pod, reason: corev1.PodReasonSchedulerError, message: err.Error()})
}

// explain writes into the status of a pod why it has no node, and deletes the victims of the pod.
func (s *scheduler) explain(ctx context.Context, o *outcome) error {
	for _, displaced := range o.displaced {
		if err := s.patch(ctx, displaced.Pod, nil, new("")); err != nil {
			return err
		}
	}
	condition := &corev1.PodCondition{
		Type: corev1.PodScheduled, ObservedGeneration: o.pod.Generation, Status: corev1.ConditionFalse, Reason: o.reason, Message: o.message,
	}
	if err := s.patch(ctx, o.pod.Pod, condition, &o.nominated); err != nil {
		return err
	}
	for _, victim := range o.victims {
		if !remains(victim) {
			continue
		}
		if err := s.patch(ctx, victim.Pod, preempted(victim), nil); err != nil {
			return err
		}
		uid := victim.UID
		if err := s.Client.Pods(victim.Namespace).Delete(ctx, victim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
			if err := work.IgnoreStale(err); err != nil {
				return err
			}
			continue
		}
		s.events.tell(ctx, victim.Pod, o.pod.Pod, "Preempted", "Preempting", fmt.Sprintf("Preempted by pod %s on node %s", o.pod.UID, o.nominated))
	}
	return nil
}

// patch sets a condition of a pod, and the node for which it is nominated. A nil argument stays as it is. A patch without
// a change isn't sent.
func (s *scheduler) patch(ctx context.Context, pod *corev1.Pod, condition *corev1.PodCondition, nominated *string) error {
	status := pod.Status.DeepCopy()
	if nominated != nil {
		status.NominatedNodeName = *nominated
	}
	if condition != nil {
		setCondition(status, *condition)
	}
	patch, err := patchOf(pod.UID, pod.Status, *status)
	if err != nil || patch == nil {
		return err
	}
	_, err = s.Client.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return work.IgnoreStale(err)
}

// setCondition adds or replaces a condition.
func setCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	condition.LastTransitionTime = metav1.Now()
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if old := status.Conditions[i]; old.Status == condition.Status {
		condition.LastTransitionTime, condition.LastProbeTime = old.LastTransitionTime, old.LastProbeTime
	}
	status.Conditions[i] = condition
}

// patchOf returns a patch from one status of a pod to another, or nil if they are equal.
func patchOf(uid types.UID, before, after corev1.PodStatus) ([]byte, error) {
	old, err := json.Marshal(corev1.Pod{Status: before})
	if err != nil {
		return nil, err
	}
	changed, err := json.Marshal(corev1.Pod{Status: after})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(old, changed, corev1.Pod{})
	if err != nil || string(patch) == "{}" {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(patch, fmt.Appendf(nil, `{"metadata":{"uid":%q}}`, uid), corev1.Pod{})
}
