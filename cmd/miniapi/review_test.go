package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
)

const (
	reviewedPod = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: c, image: nginx}]}
`
	reviewedDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: nginx}]}}}
`
	reviewedDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 7}}}}}}}
`
	reviewedWidget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {}\n"
)

// "miniapi review" prints the review that the server's admission sends to a webhook.
func TestReview(t *testing.T) {
	t.Parallel()
	pod, deployment := file(t, "pod.yaml", "%s", reviewedPod), file(t, "deployment.yaml", "%s", reviewedDeployment)
	more := file(t, "more.yaml", "%s", strings.Replace(reviewedDeployment, "replicas: 3", "replicas: 5", 1))
	definition, widget := file(t, "definition.yaml", "%s", reviewedDefinition), file(t, "widget.yaml", "%s", reviewedWidget)
	exec := file(t, "exec.yaml", "%s", "apiVersion: v1\nkind: PodExecOptions\ncommand: [ls, -l]\ntty: true\nstdin: true\ncontainer: c\n")
	namespace := file(t, "namespace.yaml", "%s", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\nspec: {finalizers: [kubernetes]}\n")
	access := file(t, "access.yaml", "%s", "apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nspec: {user: jane, nonResourceAttributes: {path: /, verb: get}}\n")
	eviction := file(t, "eviction.yaml", "%s", "apiVersion: policy/v1\nkind: Eviction\nmetadata: {name: web, namespace: shop}\n")
	for _, test := range []struct {
		name, reason string
		args         []string
		// want has values of the review, by their paths.
		want map[string]any
	}{
		{"create", "the object has its defaults, and what plugins add", []string{"-f", pod, "--as=jane", "--as-group=devs"}, map[string]any{
			"apiVersion": "admission.k8s.io/v1", "request.operation": "CREATE", "request.namespace": "shop", "request.userInfo.username": "jane",
			"request.userInfo.groups.0": "devs", "request.object.spec.restartPolicy": "Always", "request.object.spec.serviceAccountName": "default",
			"request.object.metadata.resourceVersion": nil, "request.oldObject": nil, "request.dryRun": false,
		}},
		{"v1beta1", "the webhook understands no other", []string{"-f", pod, "--review-version=v1beta1", "--validating", "--dry-run"}, map[string]any{
			"apiVersion": "admission.k8s.io/v1beta1", "request.object.spec.restartPolicy": "Always", "request.dryRun": true,
		}},
		{"update", "both objects are there", []string{"-f", more, "--old", deployment, "--operation=UPDATE"}, map[string]any{
			"request.operation": "UPDATE", "request.object.spec.replicas": 5.0, "request.oldObject.spec.replicas": 3.0, "request.subResource": nil,
		}},
		{"scale", "the subresource has a kind of its own", []string{"-f", more, "--old", deployment, "--operation=UPDATE", "--subresource=scale"}, map[string]any{
			"request.subResource": "scale", "request.kind.kind": "Scale", "request.object.spec.replicas": 5.0, "request.oldObject.spec.replicas": 3.0,
		}},
		{"delete", "the object is the old one", []string{"-f", pod, "--operation=delete"}, map[string]any{
			"request.operation": "DELETE", "request.object": nil, "request.oldObject.metadata.name": "web",
		}},
		{"connect", "the options of the connection are the object", []string{"-f", pod, "--operation=CONNECT", "--subresource=exec"}, map[string]any{
			"request.operation": "CONNECT", "request.object.kind": "PodExecOptions", "request.name": "web",
		}},
		{"options of a connection", "a webhook decides by the command", []string{"-f", exec, "--old", pod, "--operation=CONNECT", "--subresource=exec"}, map[string]any{
			"request.object.command.0": "ls", "request.object.tty": true, "request.object.container": "c", "request.namespace": "shop",
		}},
		{"review of permissions", "the server answers the object and doesn't store it", []string{"-f", access}, map[string]any{
			"request.operation": "CREATE", "request.kind.kind": "SubjectAccessReview", "request.object.spec.user": "jane",
		}},
		{"eviction", "the object of a subresource is created", []string{"-f", eviction, "--old", pod, "--subresource=eviction"}, map[string]any{
			"request.operation": "CREATE", "request.subResource": "eviction", "request.kind.kind": "Eviction", "request.name": "web",
		}},
		{"metadata of an update", "a client keeps the metadata that the server has set", []string{"-f", more, "--old", deployment, "--operation=UPDATE", "--review-version=v1beta1"}, map[string]any{
			"request.object.metadata.generation": 1.0, "request.oldObject.metadata.generation": 1.0,
		}},
		{"finalize", "the subresource can't be read", []string{"-f", namespace, "--operation=UPDATE", "--subresource=finalize"}, map[string]any{
			"request.subResource": "finalize", "request.kind.kind": "Namespace", "request.name": "shop", "request.object.spec.finalizers.0": "kubernetes",
		}},
		{"conversion", "the webhook is registered for another version", []string{"-f", deployment, "--webhook-version=apps/v1beta2"}, map[string]any{
			"request.kind.version": "v1beta2", "request.object.apiVersion": "apps/v1beta2", "request.requestKind.version": "v1",
		}},
		{"custom resource", "its definition is applied before, and has defaults", []string{"-f", widget, "--apply", definition}, map[string]any{
			"request.kind.group": "example.com", "request.object.spec.size": 7.0, "request.namespace": nil,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var review any
			if err := json.Unmarshal([]byte(runMiniapi(t, append([]string{"review"}, test.args...)...)), &review); err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for path := range test.want {
				got[path] = valueAt(review, strings.Split(path, ".")...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// valueAt returns the value at a path in decoded JSON, or nil.
func valueAt(value any, path ...string) any {
	for _, key := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			if key != "0" || len(v) == 0 {
				return nil
			}
			value = v[0]
		default:
			return nil
		}
	}
	return value
}

// "miniapi review --url" accepts and refuses the same responses of a webhook as a server does.
func TestReviewJudges(t *testing.T) {
	t.Parallel()
	pod := file(t, "pod.yaml", "%s", reviewedPod)
	jsonPatch := admissionv1.PatchTypeJSONPatch
	for _, test := range []struct {
		name, reason string
		change       func(*admissionv1.AdmissionReview)
		code         int
		want         string // a part of standard error
	}{
		{"allowed", "nothing is wrong", func(*admissionv1.AdmissionReview) {}, 0, "allowed: the uid and the version are right, and the object is valid"},
		{"patched", "nothing is wrong", func(r *admissionv1.AdmissionReview) {
			r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`)
		}, 0, "the patch applies, and the object is valid"},
		{"denied", "a denial is a good response", func(r *admissionv1.AdmissionReview) { r.Response.Allowed = false }, 0, `denied: admission webhook "review.miniapi.dev" denied the request`},
		{"wrong uid", "the response is for another review", func(r *admissionv1.AdmissionReview) { r.Response.UID = "another" }, 1, `Error: the server refuses the response: Internal error occurred: failed calling webhook "review.miniapi.dev": received invalid webhook response: expected response.uid=`},
		{"wrong version", "the response must have the version of the review", func(r *admissionv1.AdmissionReview) { r.APIVersion = "admission.k8s.io/v1beta1" }, 1, "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview)"},
		{"bad patch", "the object has no such field", func(r *admissionv1.AdmissionReview) {
			r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(`[{"op":"remove","path":"/metadata/labels/none"}]`)
		}, 1, "returned a patch that can't be applied"},
		{"invalid object", "the patch breaks the object", func(r *admissionv1.AdmissionReview) {
			r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(`[{"op":"replace","path":"/spec/containers/0/name","value":"A B"}]`)
		}, 1, `Error: the object isn't valid with the patch: Pod "web" is invalid: spec.containers[0].name`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				review := admissionv1.AdmissionReview{}
				if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
					t.Error(err)
				}
				review.Response, review.Request = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}, nil
				test.change(&review)
				w.Header().Set("Content-Type", "application/json")
				if err := json.NewEncoder(w).Encode(review); err != nil {
					t.Error(err)
				}
			}))
			defer webhook.Close()
			code, stdout, stderr := start(t, "miniapi", "review", "-f", pod, "--url", webhook.URL).exit(t)
			if code != test.code || !strings.Contains(stderr, test.want) {
				t.Errorf("%s: want exit code %d and %q, got %d and %q", test.reason, test.code, test.want, code, stderr)
			}
			if !strings.Contains(stdout, `"response": {`) {
				t.Errorf("want the response, got %s", stdout)
			}
		})
	}
}

// Errors name the wrong flag, and say what would be right.
func TestReviewFailures(t *testing.T) {
	t.Parallel()
	pod := file(t, "pod.yaml", "%s", reviewedPod)
	widget := file(t, "widget.yaml", "%s", reviewedWidget)
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no file", nil, 2, "-f must name a file with the object"},
		{"several objects", []string{"-f", file(t, "two.yaml", "%s---\n%s", reviewedPod, reviewedPod)}, 2, "must have one object, got 2"},
		{"no kind", []string{"-f", file(t, "none.yaml", "metadata: {name: web}\n")}, 2, "the object must have apiVersion and kind"},
		{"operation", []string{"-f", pod, "--operation=PATCH"}, 2, `--operation "PATCH": must be one of [CREATE UPDATE DELETE CONNECT]`},
		{"no subresource", []string{"-f", pod, "--operation=CONNECT"}, 2, "--operation CONNECT: needs --subresource, such as exec"},
		{"old", []string{"-f", pod, "--old", pod}, 2, "--old: is for an update"},
		{"version", []string{"-f", pod, "--review-version=v2"}, 2, `--review-version "v2": must be v1 or v1beta1`},
		{"URL", []string{"-f", pod, "--url=localhost:9443"}, 2, `--url "localhost:9443": must be a URL as https://`},
		{"unknown kind", []string{"-f", widget}, 1, "--apply has the definitions of custom resources"},
		{"unreachable", []string{"-f", pod, "--url=http://127.0.0.1:1/"}, 1, "connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := start(t, "miniapi", append([]string{"review"}, test.args...)...).exit(t)
			if code != test.code || !strings.Contains(stderr, test.want) {
				t.Errorf("want exit code %d and %q, got %d and %q", test.code, test.want, code, stderr)
			}
		})
	}
}

// bodyOf reads the body of a request.
func bodyOf(t testing.TB, req *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Error(err)
	}
	return body
}
