package integration_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// replying returns a webhook's handler with a fixed response. In the body, %UID% stands for the uid of the request.
func replying(code int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(strings.ReplaceAll(body, "%UID%", string(review.Request.UID))))
	})
}

// response returns an AdmissionReview of v1 that allows the request. The argument fields has further fields of the
// response, as JSON.
func response(fields string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"%UID%","allowed":true` + fields + `}}`
}

// jsonPatch returns the fields of a response with a JSON patch.
func jsonPatch(operations string) string {
	return `,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(operations)) + `"`
}

type badResponse struct {
	name, reason string
	code         int
	body         string
	// want is a part of the message that the client gets.
	want string
	// always is true if the request fails even with failurePolicy Ignore.
	always bool
}

// A webhook must answer with an AdmissionReview of the request's version and uid. With failurePolicy Fail, any other
// answer refuses the request, and the error says what is wrong with the answer. With Ignore, the request continues
// without the webhook. The cases response.*, failure.* and version.answeredInAnother of the conformance suite have some
// of these wrong answers. This test has all of them, with the message for each.
func TestBadResponses(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	cases := []badResponse{
		{"another version", "the version must be the version of the review", 200, strings.ReplaceAll(response(""), "k8s.io/v1", "k8s.io/v1beta1"),
			`failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion`, false},
		{"another group", "the group must be the group of the review", 200, strings.ReplaceAll(response(""), "admission.k8s.io/v1", "example.com/v1"),
			`failed to call webhook: no kind "AdmissionReview" is registered for version "example.com/v1" in scheme`, false},
		{"another kind", "the response must be an AdmissionReview", 200, strings.ReplaceAll(response(""), "AdmissionReview", "ConversionReview"),
			`failed to call webhook: no kind "ConversionReview" is registered for version "admission.k8s.io/v1" in scheme`, false},
		{"no version and kind", "the server can't guess kind and version", 200, `{"response":{"uid":"%UID%","allowed":true}}`,
			`received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=`,
			false},
		{"another uid", "the response has the uid of another request", 200, strings.ReplaceAll(response(""), "%UID%", "another"),
			`received invalid webhook response: expected response.uid="%UID%", got "another"`, false},
		{"no uid", "v1 requires a uid", 200, strings.ReplaceAll(response(""), `"uid":"%UID%",`, ""),
			`received invalid webhook response: expected response.uid="%UID%", got ""`, false},
		{"no response", "the review has no response", 200, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
			`received invalid webhook response: webhook response was absent`, false},
		{"not JSON", "the body isn't JSON", 200, `allowed`,
			`failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string`, false},
		{"cut off", "the JSON is incomplete", 200, response("")[:40],
			`failed to call webhook: couldn't get version/kind; json parse error: unexpected end of JSON input`, false},
		{"empty", "the body is empty", 200, ``,
			`failed to call webhook: 0-length response with status code: 200 and content type: application/json`,
			false},
		{"wrong types", "the field allowed isn't a boolean", 200, strings.Replace(response(""), "true", `"yes"`, 1),
			`failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool`,
			false},
		{"status 500", "only 200 is an answer", 500, response(""),
			`failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding`,
			false},
		{"status 404", "only 200 is an answer", 404, response(""),
			`failed to call webhook: the server could not find the requested resource`, false},
		{"status 403", "only 200 is an answer", 403, response(""), `failed to call webhook: unknown`, false},
		{"a Status", "only an AdmissionReview is an answer", 400,
			`{"apiVersion":"v1","kind":"Status","status":"Failure","message":"out of order","code":400}`,
			`failed to call webhook: out of order`, false},
		{"status 302", "only 200 is an answer", 302, response(""),
			`failed to call webhook: the server responded with the status code 302 but did not return more information`,
			false},
	}
	mutatingOnly := []badResponse{
		{"patch without type", "v1 requires patch and patchType together", 200, response(strings.Replace(jsonPatch(`[]`), `"patchType":"JSONPatch",`, "", 1)),
			`received invalid webhook response: webhook returned response.patch but not response.patchType`, false},
		{"type without patch", "v1 requires patch and patchType together", 200, response(`,"patchType":"JSONPatch"`),
			`received invalid webhook response: webhook returned response.patchType but not response.patch`, false},
		{"empty type", "an empty patchType is no type", 200, response(strings.Replace(jsonPatch(`[]`), "JSONPatch", "", 1)),
			`received invalid webhook response: webhook returned invalid response.patchType of ""`, false},
		{"another type", "JSONPatch is the only type of a patch", 200, response(strings.Replace(jsonPatch(`[{"op":"add","path":"/data/a","value":"b"}]`), "JSONPatch", "MergePatch", 1)),
			`unsupported patch type "MergePatch" (configuration "bad")`, false},
		{"not a patch", "a JSON patch is a list of operations", 200, response(jsonPatch(`{"data":{"a":"b"}}`)),
			`received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch (configuration "bad")`,
			false},
		{"not base64", "bytes in JSON are base64", 200, response(`,"patchType":"JSONPatch","patch":"*"`),
			`failed to call webhook: illegal base64 data at input byte 0`, false},
		{"unknown operation", "a patch that can't be applied refuses the request under both failure policies", 200,
			response(jsonPatch(`[{"op":"merge","path":"/data/a","value":"b"}]`)), `Unexpected kind: merge`, true},
		{"path that isn't there", "a patch that can't be applied refuses the request under both failure policies", 200,
			response(jsonPatch(`[{"op":"remove","path":"/data/missing"}]`)),
			`error in remove for path: '/data/missing': Unable to remove nonexistent key: missing: missing value`,
			true},
		{"failed test", "a patch that can't be applied refuses the request under both failure policies", 200,
			response(jsonPatch(`[{"op":"test","path":"/data/made","value":"second"}]`)),
			`testing value /data/made failed: test failed`, true},
		{"nothing to replace all with", "a patch that can't be applied refuses the request under both failure policies",
			200, response(jsonPatch(`[{"op":"replace","path":""}]`)),
			`the value of an operation of the patch is missing, or has a null`, true},
		{"comparison of all with nothing",
			"a patch that can't be applied refuses the request under both failure policies", 200,
			response(jsonPatch(`[{"op":"test","path":""}]`)),
			`the value of an operation of the patch is missing, or has a null`, true},
		{"comparison with null", "a patch that can't be applied refuses the request under both failure policies", 200,
			response(jsonPatch(`[{"op":"add","path":"/metadata/finalizers","value":["a"]},{"op":"test","path":"/metadata/finalizers","value":[null]}]`)),
			`the value of an operation of the patch is missing, or has a null`, true},
		{"undecodable object", "a patch that can't be applied refuses the request under both failure policies", 200,
			response(jsonPatch(`[{"op":"replace","path":"/data","value":"none"}]`)),
			`json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string`, true},
	}
	validatingOnly := []badResponse{
		{"patch", "a validating webhook can't change the object", 200, response(jsonPatch(`[{"op":"add","path":"/data/a","value":"b"}]`)),
			`received invalid webhook response: validating webhook may not return response.patch`, false},
		{"patchType", "a validating webhook can't change the object", 200, response(`,"patchType":"JSONPatch"`),
			`received invalid webhook response: validating webhook may not return response.patchType`, false},
	}
	for _, kind := range []struct {
		name, reason string
		hook         func(string, http.Handler, ...change) hook
		cases        []badResponse
	}{
		{"mutating", "a mutating webhook may patch the object", mutating, append(cases[:len(cases):len(cases)], mutatingOnly...)},
		{"validating", "a validating webhook may not patch the object", validating,
			append(cases[:len(cases):len(cases)], validatingOnly...)},
	} {
		for _, tc := range kind.cases {
			for _, policy := range []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore} {
				t.Run(fmt.Sprintf("%s/%s/%s", kind.name, tc.name, policy), func(t *testing.T) {
					prepare(t, srv.Client(), false)
					recorder := install(t, srv, kind.hook("bad", replying(tc.code, tc.body), failurePolicy(policy)))
					_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{})
					uid := only(t, recorder).UID
					if policy == admissionregistrationv1.Ignore && !tc.always {
						ok(t, err)
						if diff := cmp.Diff(thing().Data, stored(t, srv.Client()).Data); diff != "" {
							t.Errorf("want the object as it was sent (-want +got):\n%s", diff)
						}
						return
					}
					want := `Internal error occurred: failed calling webhook "bad.example.com": `
					if tc.always {
						want = `Internal error occurred: admission webhook "bad.example.com" of configuration "bad" returned a patch that can't be applied: `
					}
					want += strings.ReplaceAll(tc.want, "%UID%", string(uid))
					if !apierrors.IsInternalError(err) || !strings.HasPrefix(err.Error(), want) {
						t.Errorf("%s, and %s:\nwant %s\ngot  %v", kind.reason, tc.reason, want, err)
					}
					if found := stored(t, srv.Client()); found != nil {
						t.Errorf("%s: stored: %v", tc.reason, found)
					}
				})
			}
		}
	}
}

// A webhook's refusal doesn't depend on the failure policy. The client gets the webhook's code and message, and the
// status is always Failure. The cases response.denied.* of the conformance suite have some of these statuses. This test
// compares the whole status, for both kinds of webhooks.
func TestRefusals(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const denied = `admission webhook "refuse.example.com" denied the request`
	for _, tc := range []struct {
		name, reason, status string
		want                 metav1.Status
	}{
		{
			"nothing said", "a refusal without explanation is a bad request", ``,
			metav1.Status{Status: "Failure", Code: 400, Message: denied + " without explanation"},
		},
		{
			"not allowed", "a response without allowed refuses the request", ``,
			metav1.Status{Status: "Failure", Code: 400, Message: denied + " without explanation"},
		},
		{
			"code and message", "the client gets the code and the message",
			`,"status":{"code":403,"message":"You cannot do this because it is Tuesday and your name starts with A"}`,
			metav1.Status{Status: "Failure", Code: 403,
				Message: denied + ": You cannot do this because it is Tuesday and your name starts with A"},
		},
		{
			"reason", "without a message, the client gets the reason", `,"status":{"reason":"Forbidden"}`,
			metav1.Status{Status: "Failure", Code: 400, Reason: "Forbidden", Message: denied + ": Forbidden"},
		},
		{
			"success", "a refusal is no success", `,"status":{"status":"Success","code":200,"message":"fine"}`,
			metav1.Status{Status: "Failure", Code: 400, Message: denied + ": fine"},
		},
		{
			"no code of HTTP", "the server can't send such a code", `,"status":{"code":1000,"message":"no"}`,
			metav1.Status{Status: "Failure", Code: 400, Message: denied + ": no"},
		},
		{
			"whole status", "details and reason are passed on",
			`,"status":{"code":409,"reason":"Conflict","message":"taken","details":{"name":"n","kind":"k","causes":[{"field":"data","reason":"r","message":"m"}]}}`,
			metav1.Status{Status: "Failure", Code: 409, Reason: "Conflict", Message: denied + ": taken", Details: &metav1.StatusDetails{
				Name: "n", Kind: "k", Causes: []metav1.StatusCause{{Field: "data", Type: "r", Message: "m"}},
			}},
		},
	} {
		for _, refusing := range []func(string, http.Handler, ...change) hook{mutating, validating} {
			t.Run(tc.name, func(t *testing.T) {
				body := strings.Replace(response(tc.status), "true", "false", 1)
				if tc.name == "not allowed" {
					body = strings.Replace(body, `,"allowed":false`, "", 1)
				}
				install(t, srv, refusing("refuse", replying(200, body), failurePolicy("Ignore")))
				_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{})
				status, refused := err.(apierrors.APIStatus)
				if !refused {
					t.Fatalf("%s: want a refusal, got %v", tc.reason, err)
				}
				got := status.Status()
				got.TypeMeta = metav1.TypeMeta{}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// appsDeployment returns a deployment with one replica and one container.
func appsDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod(name).Spec},
		},
	}
}
