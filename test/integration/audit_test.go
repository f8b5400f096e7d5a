package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

const (
	mutationAnnotation = "mutation.webhook.admission.k8s.io/"
	patchAnnotation    = "patch.webhook.admission.k8s.io/"
)

// audited starts a server with an audit log. The name of a namespace is the audit level of requests in it.
func audited(t *testing.T) (*miniapitest.Server, *auditLog) {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	ok(t, os.WriteFile(policy, []byte(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, namespaces: [metadata]}
- {level: Request, namespaces: [request]}
- {level: RequestResponse, namespaces: [requestresponse]}
- {level: None}
`), 0o600))
	srv := miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) {
		o.Audit.PolicyFile, o.Audit.LogOptions.Path = policy, log
	}))
	for _, namespace := range []string{"none", "metadata", "request", "requestresponse"} {
		must(srv.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))(t)
	}
	return srv, &auditLog{path: log}
}

// auditLog is the file of a server's audit log.
type auditLog struct{ path string }

// event waits for the audit event of an object. The event may be written after the response.
func (l *auditLog) event(t testing.TB, namespace, name string) *auditv1.Event {
	t.Helper()
	var found *auditv1.Event
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		content, err := os.ReadFile(l.path)
		if err != nil {
			last = err
			return false, nil
		}
		last = fmt.Errorf("the audit log has no event of the object:\n%s", content)
		for line := range strings.Lines(string(content)) {
			event := &auditv1.Event{}
			if json.Unmarshal([]byte(line), event) == nil && event.ObjectRef != nil && event.ObjectRef.Namespace == namespace && event.ObjectRef.Name == name {
				found = event
			}
		}
		return found != nil, nil
	})
	if err != nil {
		t.Fatalf("the audit event of %s/%s: %v", namespace, name, last)
	}
	return found
}

// annotations returns the annotations of an event whose keys have one of the prefixes.
func (l *auditLog) annotations(t testing.TB, namespace, name string, prefixes ...string) map[string]string {
	t.Helper()
	annotations := map[string]string{}
	for key, value := range l.event(t, namespace, name).Annotations {
		for _, prefix := range prefixes {
			if strings.HasPrefix(key, prefix) {
				annotations[key] = value
			}
		}
	}
	return annotations
}

// The audit event of a request has an annotation for each call of a mutating webhook at the level Metadata, and for
// each patch at the level Request. In the annotation, "round" is 1 for a repeated call, and "index" is the position of
// the webhook in the order of calls. The cases audit.* of the conformance suite test only the level RequestResponse.
// This test has three levels, and compares all annotations of an event.
func TestAuditOfMutation(t *testing.T) {
	t.Parallel()
	srv, log := audited(t)
	metadata := map[string]string{
		mutationAnnotation + "round_0_index_0": `{"configuration":"a","webhook":"a.example.com","mutated":true}`,
		mutationAnnotation + "round_0_index_1": `{"configuration":"b","webhook":"b.example.com","mutated":true}`,
		mutationAnnotation + "round_0_index_2": `{"configuration":"c","webhook":"c.example.com","mutated":false}`,
		mutationAnnotation + "round_1_index_0": `{"configuration":"a","webhook":"a.example.com","mutated":false}`,
	}
	request := map[string]string{
		patchAnnotation + "round_0_index_0": `{"configuration":"a","webhook":"a.example.com","patch":[{"op":"add","path":"/data","value":{"a":"1"}}],"patchType":"JSONPatch"}`,
		patchAnnotation + "round_0_index_1": `{"configuration":"b","webhook":"b.example.com","patch":[{"op":"add","path":"/data/b","value":"1"},{"op":"add","path":"/data/c","value":"2"}],"patchType":"JSONPatch"}`,
	}
	for key, value := range metadata {
		request[key] = value
	}
	tests := []struct {
		level, reason string
		want          map[string]string
	}{
		{"metadata", "a patch isn't metadata", metadata},
		{"request", "a patch belongs to the level Request", request},
		{"requestresponse", "a higher level has the annotations of lower levels", request},
	}
	for _, test := range tests {
		t.Run(test.level, func(t *testing.T) {
			install(t, srv,
				mutating("a", answering(inTurn(miniapitest.Patched(miniapitest.Add("/data", map[string]string{"a": "1"})), unchanged())), mayBeReinvoked),
				mutating("b", patch(miniapitest.Add("/data/b", "1"), miniapitest.Add("/data/c", "2"))),
				mutating("c", allow()),
			)
			must(srv.Client().CoreV1().ConfigMaps(test.level).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{}))(t)
			if diff := cmp.Diff(test.want, log.annotations(t, test.level, "m", mutationAnnotation, patchAnnotation)); diff != "" {
				t.Errorf("%s: annotations (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// If a call of a webhook fails and its failurePolicy is Ignore, the audit event has an annotation.
func TestAuditOfFailingOpen(t *testing.T) {
	t.Parallel()
	srv, log := audited(t)
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) })
	ignored := failurePolicy(admissionregistrationv1.Ignore)
	install(t, srv,
		mutating("a", allow()), mutating("b", broken, ignored),
		validating("v", broken, ignored), validating("w", allow()),
	)
	must(srv.Client().CoreV1().ConfigMaps("metadata").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{}))(t)
	want := map[string]string{
		"failed-open.mutation.webhook.admission.k8s.io/round_0_index_1":   "b.example.com",
		"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "v.example.com",
		mutationAnnotation + "round_0_index_0":                            `{"configuration":"a","webhook":"a.example.com","mutated":false}`,
		mutationAnnotation + "round_0_index_1":                            `{"configuration":"b","webhook":"b.example.com","mutated":false}`,
	}
	if diff := cmp.Diff(want, log.annotations(t, "metadata", "m", "failed-open.", mutationAnnotation)); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// Webhooks and policies can add annotations of their own, with their names as prefix. If a validation of a policy with
// the action Audit fails, the audit event has an annotation with the reason. The cases audit.* of the conformance
// suite don't test refusals, audit annotations of policies, or the whole annotation of a failure.
func TestAuditOfDecisions(t *testing.T) {
	t.Parallel()
	srv, log := audited(t)
	annotated := func(response *admissionv1.AdmissionResponse) http.Handler {
		response.AuditAnnotations = map[string]string{"who": "me"}
		return always(response)
	}
	tests := []struct {
		name, reason string
		prepare      func(*testing.T)
		refused      bool
		prefixes     []string
		want         map[string]string
	}{{
		name: "webhooks", reason: "webhooks of both kinds can add annotations when they allow and when they refuse",
		prepare: func(t *testing.T) {
			install(t, srv, mutating("m", annotated(miniapitest.Allowed())), validating("v", annotated(miniapitest.Denied("no"))))
		},
		refused: true, prefixes: []string{"m.example.com/", "v.example.com/"},
		want: map[string]string{"m.example.com/who": "me", "v.example.com/who": "me"},
	}, {
		name: "policy", reason: "the failure names the expression, the actions, the policy and the binding",
		prepare: func(t *testing.T) {
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "audited"},
				Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
					Validations: []admissionregistrationv1.Validation{
						{Expression: "true"},
						{Expression: "has(object.data)", MessageExpression: "'data of ' + object.metadata.name + ' is missing'"},
					},
					AuditAnnotations: []admissionregistrationv1.AuditAnnotation{
						{Key: "name", ValueExpression: "string(object.metadata.name)"},
						{Key: "none", ValueExpression: "null"},
					},
				},
			}, binding(admissionregistrationv1.Audit))
		},
		prefixes: []string{"validation.policy.admission.k8s.io/", "audited/"},
		want: map[string]string{
			"validation.policy.admission.k8s.io/validation_failure": `[{"message":"data of policy is missing","policy":"audited","binding":"audited","expressionIndex":1,"validationActions":["Audit"]}]`,
			"audited/name": "policy",
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.prepare(t)
			_, err := srv.Client().CoreV1().ConfigMaps("metadata").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: test.name}}, metav1.CreateOptions{})
			if refused := err != nil; refused != test.refused {
				t.Errorf("refused: want %t, got %v", test.refused, err)
			}
			if diff := cmp.Diff(test.want, log.annotations(t, "metadata", test.name, test.prefixes...)); diff != "" {
				t.Errorf("%s: annotations (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A user who grants a role must have the role's permissions, which the server checks by requests of its own. These
// requests don't change the audit event of the user's request.
func TestAuditOfGrants(t *testing.T) {
	t.Parallel()
	srv, log := audited(t)
	rule := rbacRule(rbacv1.GroupName, "create", "roles")
	grant(t, srv, "granter", rule)
	must(clientOf(t, srv, "granter").RbacV1().Roles("metadata").Create(t.Context(),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "granted"}, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{}))(t)

	event := log.event(t, "metadata", "granted")
	if event.User.Username != "granter" || event.Verb != "create" || event.ResponseStatus.Code != http.StatusCreated {
		t.Errorf("got the event of %q to %s with status %d, want that of granter to create with 201", event.User.Username, event.Verb, event.ResponseStatus.Code)
	}
}
