package stages

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

func TestBuiltin(t *testing.T) {
	t.Parallel()
	c, err := Parse(t.Context(), Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, chosen := range c.chosen {
		if !chosen.set.has(Pod) && !chosen.set.has(Node) {
			t.Errorf("the set %s has no stages", chosen.set.Name)
		}
	}
}

// The annotation of a stage changes its delay.
func TestDelays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, set, stage string
		phase                    corev1.PodPhase
		without                  time.Duration
	}{
		{"pull", "a pull takes time until it fails", "image-pull-failure", "pod-pull", corev1.PodPending, 0},
		{"end", "a container runs for a while", "complete", "pod-succeed", corev1.PodRunning, 0},
		{"probe", "an application isn't ready when it starts", "slow-start", "pod-become-ready", corev1.PodRunning, 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for annotation, want := range map[string]time.Duration{"": test.without, test.stage + ".stage.kwok.x-k8s.io/delay": 7 * time.Second} {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Annotation: test.set, annotation: "7s"}}}
				pod.Status.Phase = test.phase
				if test.set == "complete" {
					pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				}
				c, err := Parse(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				set, err := c.Of(t.Context(), Pod, pod)
				if err != nil {
					t.Fatal(err)
				}
				event := &lifecycle.Event{Annotations: pod.Annotations, Data: pod}
				stage := set.Next(t.Context(), Pod, event)
				if stage == nil || stage.Name() != test.stage {
					t.Fatalf("want the stage %s, got %v", test.stage, stage)
				}
				if got, err := Delay(t.Context(), stage, event, time.Now()); err != nil || got != want {
					t.Errorf("%s: with the annotation %q, want the delay %s, got %s and %v", test.reason, annotation, want, got, err)
				}
			}
		})
	}
}
