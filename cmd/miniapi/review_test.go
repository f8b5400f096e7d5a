package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log" //nolint:depguard // net/http takes no other logger
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	optionsDefinition := file(t, "options-definition.yaml", "%s", strings.NewReplacer("widgets", "buildoptions", "Widget", "BuildOptions", "storage: true,", "storage: true, subresources: {status: {}},").Replace(reviewedDefinition))
	options := file(t, "options.yaml", "%s", strings.Replace(reviewedWidget, "Widget", "BuildOptions", 1))
	exec := file(t, "exec.yaml", "%s", "apiVersion: v1\nkind: PodExecOptions\ncommand: [ls, -l]\ntty: true\nstdin: true\ncontainer: c\n")
	namespace := file(t, "namespace.yaml", "%s", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\nspec: {finalizers: [kubernetes]}\n")
	eviction := file(t, "eviction.yaml", "%s", "apiVersion: policy/v1\nkind: Eviction\nmetadata: {name: web, namespace: shop}\n")
	binding := file(t, "binding.yaml", "%s", "apiVersion: v1\nkind: Binding\nmetadata: {name: web, namespace: shop}\ntarget: {kind: Node, name: node-1}\n")
	token := file(t, "token.yaml", "%s", "apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nmetadata: {name: builder}\nspec: {audiences: [vault]}\n")
	account := file(t, "account.yaml", "%s", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: builder}\n")
	signing := reviewedSigning(t)
	csr := file(t, "csr.yaml", "%s", signing)
	approved := file(t, "approved.yaml", "%s", signing+"status: {conditions: [{type: Approved, status: 'True', reason: Manual}]}\n")
	proxy := file(t, "proxy.yaml", "%s", "apiVersion: v1\nkind: PodProxyOptions\npath: /a/b/\n")
	service := file(t, "service.yaml", "%s", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n")
	node := file(t, "node.yaml", "%s", "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n")
	scale := file(t, "scale.yaml", "%s", "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}\nspec: {replicas: 9}\n")
	made := file(t, "made.yaml", "%s", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: made-}\n")
	held := file(t, "held.yaml", "%s", "apiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\nmetadata: {name: fast, finalizers: [example.com/hold]}\ndriverName: example.com\nparameters: {iops: '9'}\n")
	older := file(t, "older.yaml", "%s", strings.Replace(reviewedDeployment, "apps/v1", "apps/v1beta2", 1))
	merge := file(t, "merge.yaml", "%s", "spec: {replicas: 7}\n")
	jsonPatch := file(t, "patch.json", "%s", `[{"op":"replace","path":"/spec/replicas","value":8}]`)
	for _, test := range []struct {
		name, reason string
		args         []string
		// want has values of the review, by their paths.
		want map[string]any
	}{
		{"create", "the object has its defaults, and the fields that plugins add", []string{"-f", pod, "--as=jane", "--as-group=devs"}, map[string]any{
			"apiVersion": "admission.k8s.io/v1", "request.operation": "CREATE", "request.namespace": "shop",
			"request.userInfo.username": "jane",
			"request.userInfo.groups.0": "devs", "request.object.spec.restartPolicy": "Always",
			"request.object.spec.serviceAccountName":  "default",
			"request.object.metadata.resourceVersion": nil, "request.oldObject": nil, "request.dryRun": false,
		}},
		{"v1beta1", "the webhook accepts only v1beta1", []string{"-f", pod, "--review-version=v1beta1", "--validating", "--dry-run"}, map[string]any{
			"apiVersion": "admission.k8s.io/v1beta1", "request.object.spec.restartPolicy": "Always", "request.dryRun": true,
		}},
		{"update", "the review has the old object and the new object", []string{"-f", more, "--old", deployment, "--operation=UPDATE"}, map[string]any{
			"request.operation": "UPDATE", "request.object.spec.replicas": 5.0, "request.oldObject.spec.replicas": 3.0,
			"request.subResource": nil,
		}},
		{"scale", "the subresource has a kind of its own", []string{"-f", more, "--old", deployment, "--operation=UPDATE", "--subresource=scale"}, map[string]any{
			"request.subResource": "scale", "request.kind.kind": "Scale", "request.object.spec.replicas": 5.0,
			"request.oldObject.spec.replicas": 3.0,
		}},
		{"delete", "a deletion has only the old object", []string{"-f", pod, "--operation=delete"}, map[string]any{
			"request.operation": "DELETE", "request.object": nil, "request.oldObject.metadata.name": "web",
		}},
		{"status of a custom kind with options", "only kinds of the core group are options of connections", []string{"-f", options, "--subresource=status", "--apply", optionsDefinition}, map[string]any{
			"request.operation": "UPDATE", "request.subResource": "status", "request.object.kind": "BuildOptions",
			"request.oldObject.metadata.name": "one",
		}},
		{"connect", "the options of the connection are the object", []string{"-f", pod, "--operation=CONNECT", "--subresource=exec"}, map[string]any{
			"request.operation": "CONNECT", "request.object.kind": "PodExecOptions", "request.name": "web",
		}},
		{"options of a connection", "a webhook decides by the command", []string{"-f", exec, "--old", pod, "--operation=CONNECT", "--subresource=exec"}, map[string]any{
			"request.object.command.0": "ls", "request.object.tty": true, "request.object.container": "c", "request.namespace": "shop",
		}},
		{"eviction", "the object of a subresource is created", []string{"-f", eviction, "--old", pod, "--subresource=eviction"}, map[string]any{
			"request.operation": "CREATE", "request.subResource": "eviction", "request.kind.kind": "Eviction", "request.name": "web",
		}},
		{"metadata of an update", "a client keeps the metadata that the server has set", []string{"-f", more, "--old", deployment, "--operation=UPDATE", "--review-version=v1beta1"}, map[string]any{
			"request.object.metadata.generation": 1.0, "request.oldObject.metadata.generation": 1.0,
		}},
		{"finalize", "the subresource can't be read", []string{"-f", namespace, "--operation=UPDATE", "--subresource=finalize"}, map[string]any{
			"request.subResource": "finalize", "request.kind.kind": "Namespace", "request.name": "shop",
			"request.object.spec.finalizers.0": "kubernetes",
		}},
		{"conversion", "the webhook is registered for another version", []string{"-f", deployment, "--webhook-version=apps/v1beta2"}, map[string]any{
			"request.kind.version": "v1beta2", "request.object.apiVersion": "apps/v1beta2", "request.requestKind.version": "v1",
		}},
		{"custom resource", "the definition of the resource is applied first, and has defaults", []string{"-f", widget, "--apply", definition}, map[string]any{
			"request.kind.group": "example.com", "request.object.spec.size": 7.0, "request.namespace": nil,
		}},
		{"operation by the kinds", "two objects are an update", []string{"-f", more, "--old", deployment}, map[string]any{
			"request.operation": "UPDATE", "request.object.spec.replicas": 5.0, "request.oldObject.spec.replicas": 3.0,
		}},
		{"subresource by the kind", "an Eviction is of a pod alone", []string{"-f", eviction}, map[string]any{
			"request.operation": "CREATE", "request.subResource": "eviction", "request.resource.resource": "pods",
			"request.namespace": "shop",
		}},
		{"Scale", "the object says whose scale it is", []string{"-f", scale, "--old", deployment, "--review-version=v1beta1"}, map[string]any{
			"request.operation": "UPDATE", "request.subResource": "scale", "request.object.spec.replicas": 9.0,
			"request.oldObject.spec.replicas": 3.0, "request.requestResource.resource": "deployments",
		}},
		{"binding of a pod", "a resource has the same kind", []string{"-f", binding, "--subresource=binding"}, map[string]any{
			"request.resource.resource": "pods", "request.subResource": "binding", "request.object.target.name": "node-1",
		}},
		{"binding", "the resource of that kind has no subresource", []string{"-f", binding}, map[string]any{
			"request.resource.resource": "bindings", "request.subResource": nil, "request.object.target.name": "node-1",
		}},
		{"token", "the account must exist for a request to its subresource", []string{"-f", token, "--old", account, "--validating"}, map[string]any{
			"request.resource.resource": "serviceaccounts", "request.subResource": "token",
			"request.kind.kind": "TokenRequest", "request.object.spec.audiences.0": "vault",
		}},
		{"approval", "the conditions are in the status", []string{"-f", approved, "--old", csr, "--subresource=approval"}, map[string]any{
			"request.operation": "UPDATE", "request.subResource": "approval",
			"request.object.status.conditions.0.type": "Approved", "request.oldObject.status.conditions": nil,
		}},
		{"port of a proxy", "the name in the path has the port", []string{"-f", proxy, "--old", pod, "--name=web:8080"}, map[string]any{
			"request.name": "web:8080", "request.subResource": "proxy", "request.object.path": "/a/b/", "request.namespace": "shop",
		}},
		{"scheme of a proxy", "the name in the path has the scheme", []string{"-f", service, "--subresource=proxy", "--name=https:web:8443"}, map[string]any{
			"request.operation": "CONNECT", "request.name": "https:web:8443", "request.object.kind": "ServiceProxyOptions",
		}},
		{"proxy of a node", "the resource has no namespace", []string{"-f", node, "--subresource=proxy"}, map[string]any{
			"request.name": "node-1", "request.namespace": nil, "request.object.kind": "NodeProxyOptions",
		}},
		{"connection to a missing pod", "admission comes before the pod is looked up", []string{"-f", exec, "--name=nope", "-n=shop"}, map[string]any{
			"request.operation": "CONNECT", "request.name": "nope", "request.namespace": "shop", "request.object.command.0": "ls",
		}},
		{"options of a deletion", "a webhook sees how an object is deleted", []string{"-f", pod, "--operation=DELETE", "--grace-period=0", "--propagation-policy=Orphan", "--dry-run"}, map[string]any{
			"request.options.kind": "DeleteOptions", "request.options.gracePeriodSeconds": 0.0,
			"request.options.propagationPolicy": "Orphan", "request.options.dryRun.0": "All", "request.dryRun": true,
		}},
		{"no options of a deletion", "the server's defaults aren't the client's", []string{"-f", node, "--operation=DELETE"}, map[string]any{
			"request.options.gracePeriodSeconds": nil, "request.options.propagationPolicy": nil, "request.options.preconditions": nil,
		}},
		{"options of a write", "a webhook sees the manager", []string{"-f", pod, "--field-manager=me", "--field-validation=Strict"}, map[string]any{
			"request.options.kind": "CreateOptions", "request.options.fieldManager": "me", "request.options.fieldValidation": "Strict",
		}},
		{"merge patch", "a patch is an update", []string{"-f", merge, "--old", deployment, "--patch=merge", "--field-manager=me"}, map[string]any{
			"request.operation": "UPDATE", "request.object.spec.replicas": 7.0, "request.oldObject.spec.replicas": 3.0,
			"request.options.kind": "UpdateOptions", "request.options.fieldManager": "me",
		}},
		{"JSON patch", "a patch is an update", []string{"-f", jsonPatch, "--old", deployment, "--patch=json"},
			map[string]any{"request.object.spec.replicas": 8.0}},
		{"patch of a scale", "the subresource is patched", []string{"-f", merge, "--old", deployment, "--patch=merge", "--subresource=scale"}, map[string]any{
			"request.kind.kind": "Scale", "request.object.spec.replicas": 7.0, "request.oldObject.spec.replicas": 3.0,
		}},
		{"apply", "an apply request creates a missing object", []string{"-f", deployment, "--patch=apply"}, map[string]any{
			"request.operation": "CREATE", "request.options.kind": "CreateOptions", "request.options.fieldManager": "miniapi",
		}},
		{"apply to an object", "an apply request updates an existing object", []string{"-f", more, "--old", deployment, "--patch=apply", "--force"}, map[string]any{
			"request.operation": "UPDATE", "request.object.spec.replicas": 5.0, "request.options.kind": "UpdateOptions",
		}},
		{"replace", "kubectl replace sends the file", []string{"-f", more, "--old", deployment, "--replace"}, map[string]any{
			"request.object.metadata.uid": nil, "request.object.spec.replicas": 5.0, "request.oldObject.spec.replicas": 3.0,
		}},
		{"generated name", "the name is generated after admission", []string{"-f", made},
			map[string]any{"request.name": nil, "request.object.metadata.generateName": "made-"}},
		{"update in another version", "the old object is converted", []string{"-f", older, "--old", deployment}, map[string]any{
			"request.object.apiVersion": "apps/v1beta2", "request.oldObject.apiVersion": "apps/v1beta2",
			"request.resource.version": "v1beta2",
		}},
		{"finalizers", "the object has the finalizers of the file, and no finalizers of plugins", []string{"-f", held, "--operation=DELETE"}, map[string]any{
			"request.oldObject.metadata.finalizers.0": "example.com/hold", "request.oldObject.metadata.finalizers.1": nil,
		}},
		{"user", "a webhook may decide by each field of the user", []string{"-f", pod, "--as=jane", "--as-uid=42", "--as-user-extra=team=blue"}, map[string]any{
			"request.userInfo.uid": "42", "request.userInfo.extra.team.0": "blue",
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

// With --preconditions, the DeleteOptions in the review have the object's uid and resource version as preconditions.
func TestReviewPreconditions(t *testing.T) {
	t.Parallel()
	var review struct {
		Request struct {
			Options   struct{ Preconditions map[string]string }
			OldObject struct{ Metadata map[string]any }
		}
	}
	pod := file(t, "pod.yaml", "%s", reviewedPod)
	if err := json.Unmarshal([]byte(runMiniapi(t, "review", "-f", pod, "--operation=DELETE", "--preconditions")), &review); err != nil {
		t.Fatal(err)
	}
	got, old := review.Request.Options.Preconditions, review.Request.OldObject.Metadata
	if got["uid"] == "" || got["uid"] != old["uid"] || got["resourceVersion"] != old["resourceVersion"] {
		t.Errorf("want the uid and the resource version of %v, got %v", old, got)
	}
}

// "miniapi review --collection" prints a review for each object of the file, and for no other object of the namespace.
// If the webhook's response is wrong, the command ends after the first review.
func TestReviewOfCollection(t *testing.T) {
	t.Parallel()
	objects := file(t, "objects.yaml", "%s", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n")
	other := file(t, "other.yaml", "%s", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n")
	webhook := httptest.NewServer(labelling(t, "blue"))
	defer webhook.Close()
	args := []string{"review", "-f", objects, "--collection", "--apply", other, "--grace-period=5"}
	decoder := json.NewDecoder(strings.NewReader(runMiniapi(t, args...)))
	var names []string
	for decoder.More() {
		var review admissionv1.AdmissionReview
		if err := decoder.Decode(&review); err != nil {
			t.Fatal(err)
		}
		var old struct{ Metadata struct{ Name string } }
		if err := json.Unmarshal(review.Request.OldObject.Raw, &old); err != nil {
			t.Fatal(err)
		}
		names = append(names, string(review.Request.Operation)+" "+review.Request.Name+old.Metadata.Name)
		if !strings.Contains(string(review.Request.Options.Raw), `"gracePeriodSeconds": 5`) {
			t.Errorf("want the grace period, got %s", review.Request.Options.Raw)
		}
	}
	if diff := cmp.Diff([]string{"DELETE one", "DELETE two"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	code, stdout, stderr := start(t, "miniapi", append(args, "--validating", "-o=yaml", "--url", webhook.URL)...).exit(t)
	if code != 1 || strings.Count(stdout, "kind: AdmissionReview") != 1 || !strings.Contains(stderr, "validating webhook may not return response.patch") {
		t.Errorf("want the first patch to end the deletion, got %d, %s and %s", code, stdout, stderr)
	}
}

// reviewedSigning returns a CertificateSigningRequest in YAML.
func reviewedSigning(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	return "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: jane}\nspec: {signerName: example.com/signer, usages: [client auth], request: " + encoded + "}\n"
}

// valueAt returns the value at a path in decoded JSON, or nil.
func valueAt(value any, path ...string) any {
	for _, key := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index >= len(v) {
				return nil
			}
			value = v[index]
		default:
			return nil
		}
	}
	return value
}

// "miniapi review --url" judges a webhook's response as a server does, with one exception: a patch with fields that the
// server would drop is an error.
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
		{"allowed", "nothing is wrong", func(*admissionv1.AdmissionReview) {}, 0,
			": the uid and the version are right, and the object is valid"},
		{"patched", "nothing is wrong", func(r *admissionv1.AdmissionReview) {
			r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`)
		}, 0, "the patch applies, and the object is valid"},
		{"denied", "a denial is a good response", func(r *admissionv1.AdmissionReview) { r.Response.Allowed = false },
			0, `: admission webhook "review.miniapi.dev" denied the request`},
		{"wrong uid", "the response is for another review",
			func(r *admissionv1.AdmissionReview) { r.Response.UID = "another" }, 1,
			`Error: the server refuses the response: Internal error occurred: failed calling webhook "review.miniapi.dev": received invalid webhook response: expected response.uid=`},
		{"wrong version", "the response must have the version of the review",
			func(r *admissionv1.AdmissionReview) { r.APIVersion = "admission.k8s.io/v1beta1" }, 1,
			"converting (v1beta1.AdmissionReview) to (v1.AdmissionReview)"},
		{"bad patch", "the patch names a missing field", func(r *admissionv1.AdmissionReview) {
			r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(`[{"op":"remove","path":"/metadata/labels/none"}]`)
		}, 1, "returned a patch that can't be applied"},
		{"denial with a message", "the webhook writes the message for the user", func(r *admissionv1.AdmissionReview) {
			r.Response.Allowed, r.Response.Result = false, &metav1.Status{Message: "set the label owner"}
		}, 0, `denied the request: set the label owner`},
		{"warnings", "the user gets the warnings",
			func(r *admissionv1.AdmissionReview) { r.Response.Warnings = []string{"careful", "twice"} }, 0,
			"Warning: careful\nWarning: twice\nallowed in "},
		{"wrong kind", "the response must be an AdmissionReview",
			func(r *admissionv1.AdmissionReview) { r.Kind = "Review" }, 1,
			`the server refuses the response: Internal error occurred: failed calling webhook "review.miniapi.dev": failed to call webhook: no kind "Review" is registered`},
		{"patch without a type", "the server refuses a patch without a patchType",
			func(r *admissionv1.AdmissionReview) { r.Response.Patch = []byte(`[]`) }, 1,
			"webhook returned response.patch but not response.patchType"},
		{"invalid object", "the patch breaks the object", func(r *admissionv1.AdmissionReview) {
			r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(`[{"op":"replace","path":"/spec/containers/0/name","value":"A B"}]`)
		}, 1, `Error: the object isn't valid with the patch: Pod "web" is invalid: spec.containers[0].name`},
		{"unknown fields", "the server stores the object without the unknown fields", func(r *admissionv1.AdmissionReview) {
			r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(`[{"op":"add","path":"/spec/flavour","value":"mint"},{"op":"add","path":"/spec/containers/0/colour","value":"red"}]`)
		}, 1, `Error: the patch sets fields that don't exist, and the server drops them: Pod in v1 has unknown field "spec.containers[0].colour", unknown field "spec.flavour"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			webhook := httptest.NewServer(answering(t, test.change))
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

// answering returns a webhook that allows all requests. The function change can change each response before it is sent.
func answering(t *testing.T, change func(*admissionv1.AdmissionReview)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Response, review.Request = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}, nil
		change(&review)
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	})
}

// If a webhook's patch adds a field that the object's kind doesn't have in the version of the review, the verdict of
// "miniapi review" names the field. This holds for updates, subresources and custom resources, too. The webhook is
// called once.
func TestReviewJudgesFields(t *testing.T) {
	t.Parallel()
	deployment, definition := file(t, "deployment.yaml", "%s", reviewedDeployment), file(t, "definition.yaml", "%s", reviewedDefinition)
	more := file(t, "more.yaml", "%s", strings.Replace(reviewedDeployment, "replicas: 3", "replicas: 5", 1))
	open := file(t, "open.yaml", "%s", strings.Replace(reviewedDefinition, "spec: {type: object,", "spec: {type: object, x-kubernetes-preserve-unknown-fields: true,", 1))
	widget := file(t, "widget.yaml", "%s", reviewedWidget)
	eviction := file(t, "eviction.yaml", "%s", "apiVersion: policy/v1\nkind: Eviction\nmetadata: {name: web, namespace: shop}\n")
	jsonPatch := admissionv1.PatchTypeJSONPatch
	for _, test := range []struct {
		name, reason string
		args         []string
		patch        string
		// unknown is the part of the verdict that names an unknown field, or "" if the server keeps all fields.
		unknown string
	}{
		{"update", "the object is the new one", []string{"-f", more, "--old", deployment},
			`[{"op":"add","path":"/spec/size","value":1}]`, `Deployment in apps/v1 has unknown field "spec.size"`},
		{"subresource", "the object has a kind of its own",
			[]string{"-f", more, "--old", deployment, "--subresource=scale"},
			`[{"op":"add","path":"/spec/paused","value":true}]`,
			`Scale in autoscaling/v1 has unknown field "spec.paused"`},
		{"created subresource", "the object isn't stored", []string{"-f", eviction},
			`[{"op":"add","path":"/spec","value":{}}]`, `Eviction in policy/v1 has unknown field "spec"`},
		{"known field", "the server keeps the field", []string{"-f", more, "--old", deployment},
			`[{"op":"add","path":"/spec/paused","value":true}]`, ""},
		{"another version", "an older version has the field rollbackTo",
			[]string{"-f", deployment, "--webhook-version=apps/v1beta1"},
			`[{"op":"add","path":"/spec/rollbackTo","value":{"revision":1}}]`, ""},
		{"custom resource", "the definition of the resource lists its fields",
			[]string{"-f", widget, "--apply", definition}, `[{"op":"add","path":"/spec/colour","value":"red"}]`,
			`Widget in example.com/v1 has unknown field "spec.colour"`},
		{"known field of a custom resource", "the definition of the resource has the field",
			[]string{"-f", widget, "--apply", definition}, `[{"op":"replace","path":"/spec/size","value":9}]`, ""},
		{"preserved fields", "the definition keeps all fields", []string{"-f", widget, "--apply", open},
			`[{"op":"add","path":"/spec/colour","value":"red"}]`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			webhook := httptest.NewServer(answering(t, func(r *admissionv1.AdmissionReview) {
				calls.Add(1)
				r.Response.PatchType, r.Response.Patch = &jsonPatch, []byte(test.patch)
			}))
			defer webhook.Close()
			code, _, stderr := start(t, "miniapi", append([]string{"review", "--url", webhook.URL}, test.args...)...).exit(t)
			want, wantCode := "the patch applies, and the object is valid", 0
			if test.unknown != "" {
				want, wantCode = "the server drops them: "+test.unknown+"\n", 1
			}
			if code != wantCode || !strings.Contains(stderr, want) {
				t.Errorf("%s: want exit code %d and %q, got %d and %q", test.reason, wantCode, want, code, stderr)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("want one call of the webhook, got %d", n)
			}
		})
	}
}

// If a webhook returns no AdmissionReview, the verdict of "miniapi review" says what is wrong with the call.
func TestReviewJudgesCalls(t *testing.T) {
	t.Parallel()
	pod := file(t, "pod.yaml", "%s", reviewedPod)
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		bodyOf(t, req) // the server notices only after it has read the body that a client has gone
		switch req.URL.Path {
		case "/500":
			http.Error(w, "out of order", http.StatusInternalServerError)
		case "/text":
			_, _ = w.Write([]byte("hello"))
		case "/empty":
		case "/close":
			panic(http.ErrAbortHandler)
		case "/slow":
			<-req.Context().Done()
		case "/timeout":
			http.Error(w, req.URL.Query().Get("timeout"), http.StatusNotFound)
		}
	})
	plain, secured := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	t.Cleanup(func() {
		plain.Close()
		secured.Close()
	})
	ca := file(t, "ca.crt", "%s", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw}))
	port := secured.URL[strings.LastIndex(secured.URL, ":"):]
	for _, test := range []struct {
		name, reason string
		args         []string
		stdout, want string
	}{
		{"status", "the body of an error is no response", []string{"--url", plain.URL + "/500"}, "out of order",
			"the HTTP status must be 200 OK, got 500 Internal Server Error"},
		{"no JSON", "the body is no review", []string{"--url", plain.URL + "/text"}, "hello", "Error: the server refuses the response: "},
		{"empty", "the body is no review", []string{"--url", plain.URL + "/empty"}, "", "Error: the server refuses the response: "},
		{"broken", "there is no response", []string{"--url", plain.URL + "/close"}, "",
			"EOF: the webhook closed the connection without a response"},
		{"slow", "the server gives up", []string{"--url", plain.URL + "/slow", "--timeout=1s"}, "",
			"no response within 1s, the webhook's timeoutSeconds"},
		{"query", "some handlers compare the path together with its query",
			[]string{"--url", plain.URL + "/timeout", "--timeout=7s"}, "7s", "404 Not Found"},
		{"unknown authority", "the error names the flag for the authority", []string{"--url", secured.URL}, "",
			"certificate signed by unknown authority: give --ca, the file"},
		{"another name", "the certificate is for example.com and 127.0.0.1",
			[]string{"--url", "https://localhost" + port, "--ca", ca}, "",
			"x509: certificate is valid for example.com, *.example.com, not localhost"},
		{"any certificate", "the flag turns the check of the certificate off",
			[]string{"--url", secured.URL + "/500", "--insecure-skip-tls-verify"}, "out of order", "got 500"},
		{"plain HTTP", "the error names the protocol of the webhook",
			[]string{"--url", strings.Replace(plain.URL, "http:", "https:", 1)}, "", "the webhook serves plain HTTP"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", append([]string{"review", "-f", pod}, test.args...)...).exit(t)
			if code != 1 || strings.TrimSpace(stdout) != test.stdout || !strings.Contains(stderr, test.want) {
				t.Errorf("%s: want exit code 1, %q and %q, got %d, %q and %q", test.reason, test.stdout, test.want, code, stdout, stderr)
			}
		})
	}
}

// The errors of "miniapi review" name the flag or the object that is wrong, and the values that are right.
func TestReviewFailures(t *testing.T) {
	t.Parallel()
	pod := file(t, "pod.yaml", "%s", reviewedPod)
	widget := file(t, "widget.yaml", "%s", reviewedWidget)
	two, patch := file(t, "two.yaml", "%s---\n%s", reviewedPod, reviewedPod), file(t, "patch.yaml", "%s", "spec: {}\n")
	elsewhere := file(t, "elsewhere.yaml", "%s---\n%s", reviewedPod, strings.Replace(reviewedPod, "shop", "bar", 1))
	exec := file(t, "exec.yaml", "%s", "apiVersion: v1\nkind: PodExecOptions\n")
	scale := file(t, "scale.yaml", "%s", "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}\n")
	deployment := file(t, "deployment.yaml", "%s", reviewedDeployment)
	access := file(t, "access.yaml", "%s", "apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nspec: {user: jane, nonResourceAttributes: {path: /, verb: get}}\n")
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no file", nil, 2, "-f must name a file with the object"},
		{"several objects", []string{"-f", two}, 2, "-f: must have one object, got 2: --collection deletes several"},
		{"no kind", []string{"-f", file(t, "none.yaml", "metadata: {name: web}\n")}, 2,
			`object "web" must have apiVersion and kind, got apiVersion "" and kind ""`},
		{"operation", []string{"-f", pod, "--operation=PATCH"}, 2, `--operation "PATCH": must be CREATE, UPDATE, DELETE or CONNECT`},
		{"no subresource", []string{"-f", pod, "--operation=CONNECT"}, 2,
			"--operation CONNECT: must be an operation of pods: CREATE, UPDATE or DELETE"},
		{"operation of a subresource", []string{"-f", pod, "--subresource=exec", "--operation=UPDATE"}, 2,
			"--operation UPDATE: must be an operation of pods/exec: CONNECT"},
		{"subresource", []string{"-f", deployment, "--subresource=size"}, 2,
			`--subresource "size": must be a subresource of deployments.apps: scale, status`},
		{"kind of a subresource", []string{"-f", pod, "--subresource=eviction"}, 2,
			"-f: pods/eviction takes the kind Eviction, got Pod: give the Eviction by -f, and the Pod by --old"},
		{"kinds", []string{"-f", pod, "--old", deployment}, 2, "-f has a Pod, and --old a Deployment: both must be of one kind"},
		{"whose scale", []string{"-f", scale}, 2,
			"-f: a Scale may be of replicationcontrollers/scale, deployments.apps/scale, replicasets.apps/scale or statefulsets.apps/scale: give --old too"},
		{"whose connection", []string{"-f", exec}, 2, "--name: must name the object of the connection, or --old must have that object"},
		{"name", []string{"-f", pod, "--name=web:80"}, 2, `--name "web:80": is for a connection, and the operation is CREATE`},
		{"namespace", []string{"-f", pod, "-n=other"}, 2, `--namespace "other": must be the namespace of the object, "shop"`},
		{"collection", []string{"-f", pod, "--collection", "--operation=CREATE"}, 2,
			"--collection: --operation must be DELETE, got CREATE"},
		{"two collections", []string{"-f", elsewhere, "--collection"}, 2,
			`-f: a collection has objects of one kind in one namespace, got a Pod in "shop" and a Pod in "bar"`},
		{"kind of patch", []string{"-f", patch, "--patch=yaml"}, 2, `--patch "yaml": must be apply, merge, strategic or json`},
		{"patch of nothing", []string{"-f", patch, "--patch=merge"}, 2, "--patch: give --old too, with the object that is patched"},
		{"validation", []string{"-f", pod, "--field-validation=strict"}, 2, `--field-validation "strict": must be Ignore, Warn or Strict`},
		{"grace", []string{"-f", pod, "--grace-period=5"}, 2, "--grace-period: is for DELETE, and the operation is CREATE"},
		{"propagation", []string{"-f", pod, "--operation=DELETE", "--propagation-policy=orphan"}, 2,
			`--propagation-policy "orphan": must be Background, Foreground or Orphan`},
		{"dry run of a connection", []string{"-f", pod, "--subresource=exec", "--dry-run"}, 2,
			"--dry-run: is for CREATE, UPDATE or DELETE, and the operation is CONNECT"},
		{"force", []string{"-f", pod, "--force"}, 2, "--force: is for a server-side apply"},
		{"extra", []string{"-f", pod, "--as=jane", "--as-user-extra=team"}, 2, `--as-user-extra "team": must be KEY=VALUE`},
		{"group alone", []string{"-f", pod, "--as-group=devs"}, 2, "give --as too, with the user"},
		{"timeout", []string{"-f", pod, "--timeout=45s"}, 2, "--timeout 45s: must be a number of seconds from 1s to 30s"},
		{"version of the webhook", []string{"-f", deployment, "--webhook-version=apps/v9"}, 2,
			`--webhook-version "apps/v9": must be a version in which the server has deployments.apps: apps/v1`},
		{"old", []string{"-f", pod, "--old", pod, "--operation=CREATE"}, 2, "--old: leave it out, or give --operation UPDATE"},
		{"version", []string{"-f", pod, "--review-version=v2"}, 2, `--review-version "v2": must be v1 or v1beta1`},
		{"URL", []string{"-f", pod, "--url=localhost:9443"}, 2, `--url "localhost:9443": must be a URL such as https://`},
		{"unknown kind", []string{"-f", widget}, 2,
			"the server has no kind Widget in example.com/v1: give the definition of a custom resource by --apply"},
		{"unreachable", []string{"-f", pod, "--url=http://127.0.0.1:1/"}, 1, "connection refused"},
		{"review of permissions", []string{"-f", access}, 1,
			"no review was sent: the server calls no webhook for the request: as kube-apiserver since 1.37, it hides the kinds of authentication.k8s.io"},
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

func bodyOf(t testing.TB, req *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Error(err)
	}
	return body
}
