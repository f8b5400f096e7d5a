package integration_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// A recorded request has the plugins, the calls of webhooks with their reviews and patches, and the final object.
func TestRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	install(t, srv, mutating("a", patch(miniapitest.Add("/metadata/labels/a", "1"))), validating("b", allow()))
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))

	requests := recorded(t, srv, "configmaps")
	if len(requests) != 1 || len(requests[0].Admissions) != 1 {
		t.Fatalf("want one request with one pass, got %+v", requests)
	}
	request, calls := requests[0], map[string]*trace.Call{}
	for _, step := range request.Admissions[0].Steps {
		for _, webhook := range step.Webhooks {
			if webhook.Call != nil { // the webhook isn't called in the second round
				calls[webhook.Name] = webhook.Call
			}
		}
	}
	if request.User.Name != "system:admin" || request.Verb != "create" || request.Code != 201 || request.AuditID == "" {
		t.Errorf("want the creation by system:admin, got %+v", request)
	}
	if calls["a"] == nil || calls["b"] == nil {
		t.Fatalf("want calls of both webhooks, got %v", calls)
	}
	changes := trace.Diff(calls["a"].Before, calls["a"].After)
	if len(changes) != 1 || changes[0].String() != `+ metadata.labels.a: "1"` || calls["a"].Outcome != trace.Allowed {
		t.Errorf("want the label as the change of webhook a, got %v, %s", changes, calls["a"].Outcome)
	}
	if calls["b"].ReviewVersion != "v1" || !strings.Contains(string(calls["b"].Request), calls["b"].UID) || !strings.Contains(string(calls["b"].Response), calls["b"].UID) {
		t.Errorf("want the review and the response of webhook b, got %+v", calls["b"])
	}
	if times := calls["a"].Times; times.Reused || times.Connect == 0 || times.TLS == 0 || times.Wait == 0 {
		t.Errorf("want the times of a new connection, got %+v", times)
	}
	if labels := trace.Labels(request.Admissions[0].Admitted); labels["a"] != "1" {
		t.Errorf("want the admitted object to have the label, got %s", request.Admissions[0].Admitted)
	}
}

// A recorded request never contains the data of a Secret, in whichever part of the request it was sent.
func TestRecordedSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	recorder := install(t, srv, mutating("a", patch(miniapitest.Add("/data/more", "Z2VoZWlt")), on("*", "v1", "secrets")))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"p": []byte("geheim")}}
	must(srv.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}))(t)
	if len(recorder.Reviews()) != 1 {
		t.Fatalf("want one call, got %v", called(recorder))
	}
	kept, err := json.Marshal(recorded(t, srv, "secrets"))
	ok(t, err)
	if text := string(kept); strings.Contains(text, "Z2VoZWlt") || strings.Contains(text, "geheim") || !strings.Contains(text, trace.Redacted) {
		t.Errorf("want secrets to be replaced, got %s", text)
	}
}

// A request that no client makes can be evaluated for any user and operation. No webhook is called, and nothing is
// stored.
func TestWhyForRequestsThatAreNotMade(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	ok(t, askedFor("default", func(c *corev1.ConfigMap) { c.Name = "there" })(t.Context(), srv))
	recorder := install(t, srv, validating("asked", deny("never"), on("UPDATE", "v1", "configmaps")), validating("alice", deny("never"), matchCondition("request.userInfo.username == 'alice'")))
	tests := []struct {
		name, reason string
		evaluation   admissiontrace.Evaluation
		called       bool
	}{
		{"create", "the rule names another operation", admissiontrace.Evaluation{Webhook: "asked", Operation: "CREATE"}, false},
		{"update", "the rule names the operation", admissiontrace.Evaluation{Webhook: "asked", Operation: "UPDATE"}, true},
		{"delete", "the rule names another operation", admissiontrace.Evaluation{Webhook: "asked", Operation: "DELETE"}, false},
		{"as the admin", "the condition is false", admissiontrace.Evaluation{Webhook: "alice"}, false},
		{"as alice", "the condition is true",
			admissiontrace.Evaluation{Webhook: "alice", User: "alice", Groups: []string{"system:masters"}}, true},
		{"as alice without permissions", "authorization would refuse the request",
			admissiontrace.Evaluation{Webhook: "alice", User: "alice"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.evaluation.Webhook = trace.ValidatingConfiguration + "/" + test.evaluation.Webhook
			test.evaluation.Object = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"there"}}`)
			body, err := json.Marshal(test.evaluation)
			ok(t, err)
			answer, err := srv.Client().Discovery().RESTClient().Post().AbsPath(admissiontrace.WhyPath).Body(body).DoRaw(t.Context())
			ok(t, err)
			var got admissiontrace.Why
			ok(t, json.Unmarshal(answer, &got))
			if len(got.Answers) != 1 || got.Answers[0].Called != test.called || !got.Answers[0].Evaluated {
				t.Errorf("%s: want called %t, got %s", test.reason, test.called, answer)
			}
		})
	}
	if len(recorder.Reviews()) > 0 {
		t.Errorf("want no call, got %v", called(recorder))
	}
}

// With --explain-denials, the error of a refused request names the part of admission that refused it, with the rule and
// the round.
func TestDenialsAreExplained(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason string
		refuse       func(testing.TB, *miniapitest.Server)
		want         string
		causes       int
	}{
		{
			"webhook", "the rule is the one by which the webhook was called",
			func(t testing.TB, srv *miniapitest.Server) { install(t, srv, mutating("a", deny("no"))) },
			"denied the request: no (refused by MutatingWebhookConfiguration/a/a.example.com, webhooks[0].rules[0], round 0, see: miniapi trace --for configmaps/default/thing)",
			0,
		},
		{
			"policy", "kubectl prints only the causes of an error with the reason Invalid",
			func(t testing.TB, srv *miniapitest.Server) {
				enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{
					ObjectMeta: named("p"), Spec: validations(admissionregistrationv1.Validation{Expression: "false", Message: "never"}),
				}, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}})
			},
			"denied request: never (refused by ValidatingAdmissionPolicy/p/p, spec.matchConstraints.resourceRules[0], spec.validations[0].expression, round 0, see: miniapi trace --for configmaps/default/thing)",
			1,
		},
		{
			"mutating policy", "its failurePolicy refuses the request",
			func(t testing.TB, srv *miniapitest.Server) {
				mutate(t, srv, "m", mutations(applies(`Object{data: {"a": object.data.missing}}`)), nil)
			},
			"(refused by MutatingAdmissionPolicy/m/m, spec.matchConstraints.resourceRules[0], spec.mutations[0].applyConfiguration.expression, round 0, see: miniapi trace --for configmaps/default/thing)",
			1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithFlags("--explain-denials"))
			test.refuse(t, srv)
			err := askedFor("default", unchangedConfigMap)(t.Context(), srv)
			var status apierrors.APIStatus
			if !errors.As(err, &status) {
				t.Fatalf("%s: want an error of the API, got %v", test.reason, err)
			}
			if !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("%s: want the message to end with %q, got %v", test.reason, test.want, err)
			}
			var causes []metav1.StatusCause
			if details := status.Status().Details; details != nil {
				causes = details.Causes
			}
			if len(causes) != test.causes {
				t.Errorf("%s: want %d causes, got %v", test.reason, test.causes, causes)
			}
			for _, cause := range causes {
				if !strings.HasSuffix(cause.Message, test.want) {
					t.Errorf("%s: want the cause to end with %q, got %q", test.reason, test.want, cause.Message)
				}
			}
		})
	}
}

// Without --trace-requests, the server records requests only while a client follows them. The client gets each request
// when it ends.
func TestRequestsAreFollowed(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	ok(t, askedFor("default", func(c *corev1.ConfigMap) { c.Name = "before" })(t.Context(), srv))
	stream, err := srv.Client().Discovery().RESTClient().Get().AbsPath(admissiontrace.RequestsPath).Param("follow", "true").Param("resource", "configmaps").Stream(t.Context())
	ok(t, err)
	defer stream.Close()
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))
	line, err := bufio.NewReader(stream).ReadBytes('\n')
	ok(t, err)
	var event admissiontrace.Event
	ok(t, json.Unmarshal(line, &event))
	if event.Request == nil || event.Request.Name != "thing" {
		t.Errorf("want the request for the object thing, got %s", line)
	}
}

// Only users with permission for the paths can read recorded requests.
func TestRequestsAreForAuthorizedUsers(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	alice := kubernetes.NewForConfigOrDie(srv.AddUser("alice"))
	for _, path := range []string{admissiontrace.RequestsPath, admissiontrace.WhyPath} {
		if err := alice.Discovery().RESTClient().Get().AbsPath(path).Do(t.Context()).Error(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: want alice to be forbidden, got %v", path, err)
		}
	}
}

// If the service of a webhook doesn't exist, the record of the call has the review that the server would have sent.
func TestCallsWithoutAServiceHaveTheirReview(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	install(t, srv, validating("a", nil, failurePolicy(admissionregistrationv1.Ignore), func(h *hook) {
		h.ClientConfig = admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "none"}}
	}))
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))
	called := 0
	for _, step := range recorded(t, srv, "configmaps")[0].Admissions[0].Steps {
		for _, webhook := range step.Webhooks {
			called++
			if webhook.Call == nil || webhook.Call.Outcome != trace.FailedOpen || !strings.Contains(string(webhook.Call.Request), webhook.Call.UID) || webhook.Call.UID == "" {
				t.Errorf("want a call that failed, with its review, got %+v", webhook.Call)
			}
		}
	}
	if called == 0 {
		t.Error("want the webhook in the trace")
	}
}

// The trace of a deletecollection has a pass for each object. The passes have the names of the objects, so questions
// about one of the objects are answered.
func TestTraceOfADeletedCollection(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	maps := srv.Client().CoreV1().ConfigMaps("default")
	for _, name := range []string{"a", "b", "c"} {
		label := map[string]string{"of": name, "collected": "yes"}
		must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: label}}, metav1.CreateOptions{}))(t)
	}
	install(t, srv, validating("asked", allow(), on("DELETE", "v1", "configmaps"), objectSelector(map[string]string{"of": "b"})))
	ok(t, maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "collected=yes"}))

	timeline, err := srv.Admission().Timeline("configmaps/default/c")
	ok(t, err)
	for _, want := range []string{"DELETE of configmaps in namespace default by system:admin", "pass 1: DELETE default/a", "pass 2: DELETE default/b"} {
		if !strings.Contains(timeline, want) {
			t.Errorf("want %q in the timeline of c, got\n%s", want, timeline)
		}
	}
	for name, called := range map[string]bool{"a": false, "b": true, "c": false} {
		answers, err := srv.Admission().Why(trace.ValidatingConfiguration+"/asked", "configmaps/default/"+name)
		ok(t, err)
		if len(answers) != 1 || answers[0].Called != called || !strings.Contains(answers[0].Sentence, "DELETE of configmaps default/"+name) {
			t.Errorf("want called: %t for %s, got %+v", called, name, answers)
		}
	}
}
