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

// inTurn returns a handler that answers the calls with the given responses, one after the other. It refuses further
// calls.
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

// shown returns the parts of a pod that these tests change as text: "main=Always sidecar=IfNotPresent a=1".
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

// The tests use the in-tree plugin AlwaysPullImages, whose change is "=Always". A container that a webhook adds doesn't
// have the change until the plugin runs again.
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
		name: "several-partial", reason: "KEP scenario 4: nothing has changed since the last webhook was called",
		webhooks: []webhook{
			{"a", mayBeReinvoked, answers(labelled("a", "1"), unchanged())},
			{"b", mayBeReinvoked, answers(labelled("b", "1"))},
		},
		want: []string{"a: main=Always", "b: main=Always a=1", "a: main=Always a=1 b=1", "stored: main=Always a=1 b=1"},
	}, {
		name: "several-full", reason: "KEP scenario 5: the first webhook changes something again, so the last is called again",
		webhooks: []webhook{
			{"a", mayBeReinvoked, answers(labelled("a", "1"), labelled("a", "2"))},
			{"b", mayBeReinvoked, answers(labelled("b", "1"), labelled("b", "2"))},
		},
		want: []string{"a: main=Always", "b: main=Always a=1", "a: main=Always a=1 b=1", "b: main=Always a=2 b=1", "stored: main=Always a=2 b=2"},
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
		name: "opted-in-alone", reason: "only the webhook with the policy IfNeeded is called again",
		webhooks: []webhook{
			{"a", mayBeReinvoked, answers(unchanged(), unchanged())},
			{"b", neverIsReinvoked, answers(labelled("b", "1"))},
		},
		want: []string{"a: main=Always", "b: main=Always", "a: main=Always b=1", "stored: main=Always b=1"},
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

// A refusal in a repeated call refuses the request.
func TestReinvocationDenied(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv,
		mutating("a", answering(inTurn(unchanged(), miniapitest.Denied("not like this"))), mayBeReinvoked),
		mutating("b", patch(miniapitest.Add("/data", map[string]string{"b": "1"}))),
	)
	maps := srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault)
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "refused"}}, metav1.CreateOptions{})
	const want = `admission webhook "a.example.com" denied the request: not like this`
	if err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
	if diff := cmp.Diff([]string{"a", "b", "a"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if stored := must(maps.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=refused"}))(t); len(stored.Items) != 0 {
		t.Error("it was stored")
	}
}

// If a patch doesn't change the object, no webhook is called again.
func TestReinvocationUnchanged(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	maps := srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault)
	stored := must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"b": "1"}}, metav1.CreateOptions{}))(t)
	recorder := install(t, srv,
		mutating("a", allow(), mayBeReinvoked),
		mutating("b", patch(miniapitest.Replace("/data/b", "1"))),
	)
	must(maps.Update(t.Context(), stored, metav1.UpdateOptions{}))(t)
	if diff := cmp.Diff([]string{"a", "b"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// If a webhook doesn't match in the first round, it isn't called in the second round, even if the changed object would
// match.
func TestReinvocationOfMatchingWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv,
		mutating("a", allow(), mayBeReinvoked, objectSelector(map[string]string{"b": "1"})),
		mutating("b", patch(miniapitest.Add("/metadata/labels", map[string]string{"b": "1"}))),
		mutating("c", allow(), objectSelector(map[string]string{"b": "1"})),
	)
	maps := srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault)
	must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{}))(t)
	if diff := cmp.Diff([]string{"b", "c"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// For a deletion, no webhook is called again, because there is no object to change.
func TestReinvocationOfDelete(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv, mutating("a", allow(), mayBeReinvoked), mutating("b", allow(), mayBeReinvoked))
	maps := srv.Client().CoreV1().ConfigMaps("default")
	must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{}))(t)
	recorder.Reset()
	ok(t, maps.Delete(t.Context(), "m", metav1.DeleteOptions{}))
	if diff := cmp.Diff([]string{"a", "b"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Mutating webhooks are called one after the other: configurations in the order of their names, and the webhooks of a
// configuration in the order of its list.
func TestMutatingOrder(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := &miniapitest.Recorder{}
	placed := func(name string) hook {
		h := mutating(name, nil)
		h.ClientConfig = srv.Webhook("/"+name, recorder.Handler(allow())).ClientConfig()
		return h
	}
	configure(t, srv, "second", placed("b-2"), placed("b-1"))
	configure(t, srv, "first", placed("z"), placed("a"))
	must(srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{}))(t)
	if diff := cmp.Diff([]string{"z", "a", "b-2", "b-1"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
