package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
)

// errNotHeld is the error of a step while the stages go on by themselves.
var errNotHeld = errors.New("the pods aren't held: hold them first")

// maxRounds is the number of stages without a delay that may follow each other. More are taken for an endless loop.
const maxRounds = 100

// parallelSteps is the number of pods whose stages are played at the same time.
const parallelSteps = 8

// Hold stops the clock of the pods. No stage of a pod begins until Step, Advance or Release. The names of pods in these
// methods have the form NAMESPACE/NAME.
func (k *Kubelets) Hold() {
	k.pods.playing.Lock() // wait for the stages that have begun
	defer k.pods.playing.Unlock()
	k.pods.clock.hold()
}

// Release lets the clock of the pods go on.
func (k *Kubelets) Release() {
	k.pods.clock.release()
	for _, key := range k.podInformer.GetStore().ListKeys() {
		k.podQueue.Add(key)
	}
}

// Step lets held pods come to their next stages at once, without the delays of the stages. Without names, it does so for
// all pods.
func (k *Kubelets) Step(ctx context.Context, names ...string) error {
	return k.whileHeld(ctx, func(ctx context.Context) error {
		turns, err := k.turns(ctx, names)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !slices.ContainsFunc(turns, func(t turn) bool { return t.key == name }) {
				return fmt.Errorf("pod %q: doesn't exist, or no stage comes next", name)
			}
		}
		return k.play(ctx, turns)
	})
}

// Advance moves the clock of held pods, and plays the stages whose time comes meanwhile, in their order.
func (k *Kubelets) Advance(ctx context.Context, by time.Duration) error {
	return k.whileHeld(ctx, func(ctx context.Context) error {
		until := k.pods.clock.now().Add(by)
		var at time.Time
		for rounds := 0; ; rounds++ {
			turns, err := k.turns(ctx, nil)
			if err != nil {
				return err
			}
			if len(turns) == 0 || turns[0].due.After(until) {
				k.pods.clock.set(until)
				return nil
			}
			if due := turns[0].due; due.After(at) {
				at, rounds = due, 0
			}
			if rounds == maxRounds {
				return fmt.Errorf("pod %q: comes to more than %d stages without a delay", turns[0].key, maxRounds)
			}
			if at.After(k.pods.clock.now()) {
				k.pods.clock.set(at)
			}
			if err := k.play(ctx, slices.DeleteFunc(turns, func(t turn) bool { return t.due.After(at) })); err != nil {
				return err
			}
		}
	})
}

// Fail lets a pod fail for a reason, such as OOMKilled or Evicted. The containers of the pod aren't restarted. The pod
// needn't be held.
func (k *Kubelets) Fail(ctx context.Context, name, reason string) error {
	return k.runner.Do(ctx, func(ctx context.Context) error {
		obj, exists, err := k.podInformer.GetStore().GetByKey(name)
		pod, ok := obj.(*corev1.Pod)
		if err != nil || !exists || !ok {
			return fmt.Errorf("pod %q: doesn't exist", name)
		}
		node, ok := k.hasPod(pod)
		if !ok {
			return fmt.Errorf("pod %q: has no node whose kubelet works", name)
		}
		addresses, err := k.addressesOf(pod)
		if err != nil {
			return err
		}
		status, err := statusPatch(corev1.Pod{Status: pod.Status}, corev1.Pod{Status: podstatus.Fail(pod, reason, addresses, time.Now())})
		if err != nil {
			return err
		}
		_, err = k.pods.patch(ctx, node, pod, &lifecycle.Patch{
			Type: types.StrategicMergePatchType, Data: []byte(`{"status":` + status + `}`), Subresource: "status",
		})
		return err
	})
}

// whileHeld calls f if the pods are held.
func (k *Kubelets) whileHeld(ctx context.Context, f func(context.Context) error) error {
	if !k.pods.clock.isHeld() {
		return errNotHeld
	}
	return k.runner.Do(ctx, f)
}

// turn is the next stage of a pod.
type turn struct {
	plan
	key string
	pod object
}

// turns returns the next stages of pods, or of all pods, in the order of their times.
func (k *Kubelets) turns(ctx context.Context, names []string) ([]turn, error) {
	if len(names) == 0 {
		names = k.podInformer.GetStore().ListKeys()
	}
	var all []turn
	for _, name := range names {
		pod, next, err := k.pods.next(ctx, name)
		if err != nil {
			return nil, err
		}
		if next.stage != nil {
			all = append(all, turn{next, name, pod})
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return a.due.Compare(b.due) })
	return all, nil
}

// play plays the stages of several pods.
func (k *Kubelets) play(ctx context.Context, turns []turn) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelSteps)
	for _, t := range turns {
		group.Go(func() error { return k.pods.play(ctx, t.key, t.pod, t.plan) })
	}
	return group.Wait()
}
