package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	// since is when the claims of the pod began to be bound, or zero if the pod doesn't wait for claims. givenUp is a claim
	// for which no volume can be made on the node.
	since   time.Time
	givenUp string

	// The other fields are those of a pod that no node takes. nominated is the node for which it waits.
	reason, message, nominated string
	victims                    []*podInfo // to preempt
	displaced                  []*podInfo // pods that wait for the same node no longer
	// again is true if, while the victims are being preempted, something has changed that may help the pod.
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

// preBinding begins the message about claims that couldn't be bound.
const preBinding = `running PreBind plugin "` + volumeBinding + `"`

// bind binds a pod, after its claims. If that fails, the pod is scheduled again. If the claims aren't bound yet, bind
// returns the time that they have left.
func (s *scheduler) bind(ctx context.Context, o *outcome) (again time.Duration, err error) {
	by := preBinding
	if again, err = s.bindClaims(ctx, o); err == nil && again > 0 {
		return again, nil
	}
	if err == nil {
		if !s.hasClaims(o) {
			return 0, nil
		}
		by = `running Bind plugin "DefaultBinder"`
		err = s.Client.Pods(o.pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.pod.Namespace, Name: o.pod.Name, UID: o.pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: o.node},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		s.events.tell(ctx, o.pod.Pod, "Scheduled", "Binding", fmt.Sprintf("Successfully assigned %s/%s to %s", o.pod.Namespace, o.pod.Name, o.node))
		return 0, nil
	}
	if ctx.Err() != nil {
		return 0, err
	}
	s.bindingFailed(o, fmt.Errorf("%s: %w", by, err))
	return 0, nil
}

// hasClaims ends the wait of a pod for its claims. It returns false if the pod lost its node to another pod meanwhile.
func (s *scheduler) hasClaims(o *outcome) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.since = time.Time{}
	return s.outcomes[o.pod.UID] == o
}

// bindingFailed lets a pod be scheduled again after an error.
func (s *scheduler) bindingFailed(o *outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if assumed := s.cluster.pods[o.pod.UID]; assumed == o.pod { // not bound already, nor deleted
		s.takeBack(o, err)
	}
}

// takeBack takes the chosen node from a pod, and lets the pod be scheduled again.
func (s *scheduler) takeBack(o *outcome, err error) {
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

// explain writes into the status of a pod why it has no node, and preempts the victims of the pod.
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
	for len(o.victims) > 0 {
		if err := s.preempt(ctx, o, o.victims[0]); err != nil {
			return err
		}
		s.mu.Lock()
		o.victims = o.victims[1:]
		s.mu.Unlock()
	}
	return nil
}

// preempt takes the node of a victim from it.
func (s *scheduler) preempt(ctx context.Context, o *outcome, victim *podInfo) error {
	if !remains(victim) {
		return nil
	}
	note := fmt.Sprintf("Preempted by pod %s on node %s", o.pod.UID, o.nominated)
	if s.stopBinding(victim) {
		note += " (in kube-scheduler memory)."
	} else if deleted, err := s.deleteVictim(ctx, victim); err != nil || !deleted {
		return err
	}
	s.events.tell(ctx, victim.Pod, "Preempted", "Preempting", note)
	return nil
}

// stopBinding takes its node from a victim that waits for its claims to be bound. It returns false if the victim doesn't.
func (s *scheduler) stopBinding(victim *podInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outcomes[victim.UID]
	if o == nil || o.since.IsZero() {
		return false
	}
	s.takeBack(o, errors.New(preBinding+": preempted by DefaultPreemption"))
	return true
}

// deleteVictim deletes a victim, whose status says why. It returns false if the victim doesn't exist any more.
func (s *scheduler) deleteVictim(ctx context.Context, victim *podInfo) (bool, error) {
	if err := s.patch(ctx, victim.Pod, preempted(victim), nil); err != nil {
		return false, err
	}
	uid := victim.UID
	err := s.Client.Pods(victim.Namespace).Delete(ctx, victim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	return err == nil, work.IgnoreStale(err)
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
