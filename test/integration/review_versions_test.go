package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// The test has the example of the Kubernetes documentation: a review of an update of a Deployment's scale, with all
// fields, in both versions of AdmissionReview. The cases review.* of the conformance suite compare single fields. This
// test compares the whole review, so the review can't have other fields either.
func TestRequestOfTheDocumentation(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	must(srv.Client().AppsV1().Deployments("default").Create(t.Context(), appsDeployment("my-deployment"), metav1.CreateOptions{}))(t)
	config := srv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "admin", UID: "014fbff9a07c", Groups: []string{"system:authenticated", "my-admin-group", "system:masters"},
		Extra: map[string][]string{"some-key": {"some-value1", "some-value2"}},
	}
	admin := must(kubernetes.NewForConfig(config))(t)

	var requests []string
	// line records the method, the path and the Content-Type of each request to a webhook.
	line := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests = append(requests, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type")))
			next.ServeHTTP(w, r)
		})
	}
	onScale := on("UPDATE", "apps/v1", "deployments/scale")
	recorder := install(t, srv, mutating("v1", line(allow()), onScale), mutating("v1beta1", line(allow()), onScale, reviewVersions("v1beta1")))
	scale := must(admin.AppsV1().Deployments("default").GetScale(t.Context(), "my-deployment", metav1.GetOptions{}))(t)
	changed := scale.DeepCopy()
	changed.Spec.Replicas = 2
	must(admin.AppsV1().Deployments("default").UpdateScale(t.Context(), "my-deployment", changed, metav1.UpdateOptions{}))(t)

	if diff := cmp.Diff([]string{"POST /v1 application/json", "POST /v1beta1 application/json"}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for i, review := range recorder.Reviews() {
		var sent map[string]any
		ok(t, json.Unmarshal(review.Body, &sent))
		request, isObject := sent["request"].(map[string]any)
		if !isObject {
			t.Fatalf("no request in %s", review.Body)
		}
		for field, want := range map[string]*autoscalingv1.Scale{"object": changed, "oldObject": scale} {
			got := decode[autoscalingv1.Scale](t, must(json.Marshal(request[field]))(t))
			if got.APIVersion != "autoscaling/v1" || got.Kind != "Scale" {
				t.Errorf("%s: want a Scale of autoscaling/v1, got a %s of %s", field, got.Kind, got.APIVersion)
			}
			got.TypeMeta, got.ManagedFields = want.TypeMeta, want.ManagedFields
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", field, diff)
			}
			delete(request, field)
		}
		if uid, isText := request["uid"].(string); !isText || uid == "" || uid == string(recorder.Reviews()[1-i].Request.UID) {
			t.Errorf("want a uid of its own, got %v", request["uid"])
		}
		delete(request, "uid")
		scaleKind := map[string]any{"group": "autoscaling", "version": "v1", "kind": "Scale"}
		deployments := map[string]any{"group": "apps", "version": "v1", "resource": "deployments"}
		want := map[string]any{
			"apiVersion": "admission.k8s.io/" + []string{"v1", "v1beta1"}[i], "kind": "AdmissionReview",
			"request": map[string]any{
				"kind": scaleKind, "resource": deployments, "subResource": "scale",
				"requestKind": scaleKind, "requestResource": deployments, "requestSubResource": "scale",
				"name": "my-deployment", "namespace": "default", "operation": "UPDATE",
				"userInfo": map[string]any{
					"username": "admin", "uid": "014fbff9a07c",
					"groups": []any{"system:authenticated", "my-admin-group", "system:masters"},
					"extra":  map[string]any{"some-key": []any{"some-value1", "some-value2"}},
				},
				"options": map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"}, "dryRun": false,
			},
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("the review (-want +got):\n%s", diff)
		}
	}
}

// A webhook configuration must have at least one review version that the server supports. If a stored configuration
// has none, the call of the webhook fails, and its failure policy decides.
func TestStoredConfigurationOfUnknownReviewVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, err := miniapitest.New(t.Context(), miniapitest.WithDataDir(dir))
	ok(t, err)
	for _, h := range []hook{
		validating("fail", nil, on("CREATE", "v1", "configmaps"), failurePolicy("Fail"), reviewVersions("v1beta1")),
		validating("ignore", nil, on("CREATE", "v1", "secrets"), failurePolicy("Ignore"), reviewVersions("v1beta1")),
	} {
		h.ClientConfig.URL = new("https://127.0.0.1:1/never-called")
		must(before.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: h.shortName()}, Webhooks: []admissionregistrationv1.ValidatingWebhook{h.validating()},
		}, metav1.CreateOptions{}))(t)
	}
	ok(t, before.Stop())
	makeStored(t, dir, "v1beta1", "v0alpha", "/registry/validatingwebhookconfigurations/fail", "/registry/validatingwebhookconfigurations/ignore")

	srv := miniapitest.Start(t, miniapitest.WithDataDir(dir))
	_, err = srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{})
	want := `Internal error occurred: failed calling webhook "fail.example.com": could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)`
	if !apierrors.IsInternalError(err) || err.Error() != want {
		t.Errorf("with failurePolicy Fail, want %q, got %v", want, err)
	}
	must(srv.Client().CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}))(t)

	stored := must(srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "fail", metav1.GetOptions{}))(t)
	stored.Labels = map[string]string{"still": "changeable"}
	must(srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(t.Context(), stored, metav1.UpdateOptions{}))(t)
}

// makeStored changes stored objects in the data folder of a stopped server, so that they have values that the API would
// refuse.
func makeStored(t testing.TB, dir, from, to string, keys ...string) {
	t.Helper()
	if len(from) != len(to) {
		t.Fatalf("%q and %q must be of the same length: the objects are encoded", from, to)
	}
	member := must(storage.Start(t.Context(), storage.Options{DataDir: dir}))(t)
	kv := member.Client().Client
	for _, key := range keys {
		found := must(kv.Get(t.Context(), key))(t)
		if len(found.Kvs) != 1 || !bytes.Contains(found.Kvs[0].Value, []byte(from)) {
			t.Fatalf("want %q somewhere under %s, got %v", from, key, found.Kvs)
		}
		must(kv.Put(t.Context(), key, string(bytes.ReplaceAll(found.Kvs[0].Value, []byte(from), []byte(to)))))(t)
	}
	ok(t, member.Stop(t.Context()))
}
