package integration_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

var (
	mayBeReinvoked   = reinvocationPolicy(admissionregistrationv1.IfNeededReinvocationPolicy)
	neverIsReinvoked = reinvocationPolicy(admissionregistrationv1.NeverReinvocationPolicy)
)

func reinvocationPolicy(policy admissionregistrationv1.ReinvocationPolicyType) change {
	return func(h *hook) { h.ReinvocationPolicy = &policy }
}

// inTurn returns an argument for the function answering: a function that returns the given responses one after the
// other, and then refuses every request.
func inTurn(responses ...*admissionv1.AdmissionResponse) func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	calls := &atomic.Int32{}
	return func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if call := int(calls.Add(1)); call <= len(responses) {
			return responses[call-1]
		}
		return miniapitest.Denied(fmt.Sprintf("called more than %d times", len(responses)))
	}
}

func unchanged() *admissionv1.AdmissionResponse { return miniapitest.Allowed() }

func labelled(key, value string) *admissionv1.AdmissionResponse {
	return miniapitest.Patched(miniapitest.Add("/metadata/labels/"+key, value))
}

func withSidecar() *admissionv1.AdmissionResponse {
	return miniapitest.Patched(miniapitest.Add("/spec/containers/-", map[string]string{"name": "sidecar", "image": "sidecar:1"}))
}

// shown returns a text with the parts of a pod that these tests change, such as "main=Always sidecar=IfNotPresent a=1".
func shown(pod *corev1.Pod) string {
	var parts []string
	for _, c := range pod.Spec.Containers {
		parts = append(parts, c.Name+"="+string(c.ImagePullPolicy))
	}
	for _, key := range []string{"a", "b"} {
		if value, found := pod.Labels[key]; found {
			parts = append(parts, key+"="+value)
		}
	}
	return strings.Join(parts, " ")
}

// If a webhook changes the object, an in-tree plugin runs again, and webhooks run again after the plugin. In the
// conformance suite, only the case reinvocation.inTree has an in-tree plugin. This test has another plugin, which only
// an option turns on: AlwaysPullImages. The wanted texts show its change as "=Always". A container that a webhook adds
// doesn't have the change until the plugin runs again.
func TestReinvocation(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithAdmissionPlugins("AlwaysPullImages"))
	type webhook struct {
		name    string
		policy  change
		answers []*admissionv1.AdmissionResponse
	}
	answers := func(responses ...*admissionv1.AdmissionResponse) []*admissionv1.AdmissionResponse { return responses }
	tests := []struct {
		name, reason string
		webhooks     []webhook
		// want has the name and the object of each call, and at the end the stored object.
		want []string
	}{{
		name: "no-reinvocation", reason: "KEP scenario 1: the webhook changes nothing",
		webhooks: []webhook{{"a", mayBeReinvoked, answers(unchanged())}},
		want:     []string{"a: main=Always", "stored: main=Always"},
	}, {
		name: "in-tree-only", reason: "KEP scenario 2: the plugin has nothing to change the second time",
		webhooks: []webhook{{"a", mayBeReinvoked, answers(labelled("a", "1"))}},
		want:     []string{"a: main=Always", "stored: main=Always a=1"},
	}, {
		name: "full", reason: "KEP scenario 3: the plugin changes what the webhook has added, so the webhook is called again, once",
		webhooks: []webhook{{"a", mayBeReinvoked, answers(withSidecar(), labelled("a", "2"))}},
		want:     []string{"a: main=Always", "a: main=Always sidecar=Always", "stored: main=Always sidecar=Always a=2"},
	}, {
		name: "never", reason: "a webhook with the policy Never is called once, but in-tree plugins run again",
		webhooks: []webhook{{"a", neverIsReinvoked, answers(withSidecar())}},
		want:     []string{"a: main=Always", "stored: main=Always sidecar=Always"},
	}, {
		name: "default", reason: "the default is Never",
		webhooks: []webhook{
			{"a", func(*hook) {}, answers(labelled("a", "1"))},
			{"b", func(*hook) {}, answers(withSidecar())},
		},
		want: []string{"a: main=Always", "b: main=Always a=1", "stored: main=Always sidecar=Always a=1"},
	}, {
		name: "added-and-seen", reason: "an earlier webhook gets the container that a later webhook has added, with the plugin's change",
		webhooks: []webhook{
			{"a", mayBeReinvoked, answers(unchanged(), labelled("a", "2"))},
			{"b", mayBeReinvoked, answers(withSidecar(), unchanged())},
		},
		want: []string{
			"a: main=Always", "b: main=Always",
			"a: main=Always sidecar=Always", "b: main=Always sidecar=Always a=2",
			"stored: main=Always sidecar=Always a=2",
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var hooks []hook
			for _, w := range test.webhooks {
				hooks = append(hooks, mutating(w.name, answering(inTurn(w.answers...)), w.policy, on("CREATE", "v1", "pods")))
			}
			calls := install(t, srv, hooks...)
			final := install(t, srv, validating("final", allow(), on("CREATE", "v1", "pods")))
			pods := srv.Client().CoreV1().Pods(metav1.NamespaceDefault)
			asked := pod(test.name)
			asked.Labels = map[string]string{"app": "main"} // webhooks add further labels to this one
			created := must(pods.Create(t.Context(), asked, metav1.CreateOptions{}))(t)

			var got []string
			for _, review := range calls.Reviews() {
				got = append(got, strings.TrimPrefix(review.Path, "/")+": "+shown(decode[corev1.Pod](t, review.Request.Object.Raw)))
			}
			got = append(got, "stored: "+shown(created))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: calls (-want +got):\n%s", test.reason, diff)
			}
			// The validating webhook gets the final object in a single call.
			if diff := cmp.Diff(got[len(got)-1], "stored: "+shown(decode[corev1.Pod](t, only(t, final).Object.Raw))); diff != "" {
				t.Errorf("what the validating webhook saw (-stored +seen):\n%s", diff)
			}
		})
	}
}
