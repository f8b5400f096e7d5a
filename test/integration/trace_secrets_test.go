package integration_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// password is the secret value of the tests. half is a part of password. In messages, half also occurs alone.
const (
	password = "hunter2-and-more"
	half     = "r2-and"
)

// leaking returns a webhook's handler. Its response has the constant password, or a part of it, in each field that can
// have text.
func leaking(allowed bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var review admissionv1.AdmissionReview
		_ = json.Unmarshal(body, &review)
		response := map[string]any{
			"uid": review.Request.UID, "allowed": allowed, "unknown": password,
			"status": map[string]any{"message": "the password " + password + " is bad, as " + half + " shows",
				"details": map[string]any{"name": password}},
			"warnings":         []string{"weak: " + half},
			"auditAnnotations": map[string]string{"password": password},
		}
		if allowed {
			operations, _ := json.Marshal([]any{
				map[string]any{"op": "add", "path": "/data/more", "value": base64.StdEncoding.EncodeToString([]byte(password + "-more"))},
				map[string]any{"op": "add", "path": "/metadata/annotations", "value": map[string]any{"copy": password}},
			})
			response["patchType"], response["patch"] = "JSONPatch", operations
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
			"request": review.Request, "echo": string(body),
		})
	})
}

// quotingFailure answers with an error that quotes the review.
func quotingFailure(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "message": string(body)})
}

// No part of a Secret's data is in a recorded request, in any format, whichever part of the request had the data.
func TestRecordedRequestsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	secret := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: named("thing"), Data: map[string][]byte{"password": []byte(password)}}
	}
	parameters := &corev1.Secret{ObjectMeta: named("parameters"), Data: map[string][]byte{"password": []byte(password)}}
	onSecrets := on("*", "v1", "secrets")
	quoting := func(t *testing.T, srv *miniapitest.Server, resource, paramKind string, expression, message string) {
		t.Helper()
		spec := validations(admissionregistrationv1.Validation{Expression: expression, MessageExpression: message})
		spec.MatchConstraints = matchResources("*", "v1", resource)
		spec.AuditAnnotations = []admissionregistrationv1.AuditAnnotation{{Key: "password", ValueExpression: message}}
		bound := binding(admissionregistrationv1.Deny)
		if paramKind != "" {
			spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: paramKind}
			bound.ParamRef = &admissionregistrationv1.ParamRef{Name: parameters.Name, Namespace: "default", ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)}
		}
		enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("quoting"), Spec: spec}, bound)
	}
	create := func(t *testing.T, srv *miniapitest.Server) error {
		t.Helper()
		_, err := srv.Client().CoreV1().Secrets("default").Create(t.Context(), secret(), metav1.CreateOptions{})
		return err
	}
	for _, test := range []struct {
		name, reason string
		do           func(*testing.T, *miniapitest.Server) error
		resource     string
		refused      bool
	}{
		{"a mutating webhook", "the webhook's patch copies the secret, and its answer repeats the review", func(t *testing.T, srv *miniapitest.Server) error {
			install(t, srv, mutating("a", leaking(true), onSecrets))
			return create(t, srv)
		}, "secrets", false},
		{"a validating webhook", "the webhook's denial quotes the secret", func(t *testing.T, srv *miniapitest.Server) error {
			install(t, srv, validating("a", leaking(false), onSecrets))
			return create(t, srv)
		}, "secrets", true},
		{"a webhook that fails", "the webhook's error quotes the review", func(t *testing.T, srv *miniapitest.Server) error {
			install(t, srv, validating("a", http.HandlerFunc(quotingFailure), onSecrets))
			return create(t, srv)
		}, "secrets", true},
		{"a policy", "the policy's message quotes the secret", func(t *testing.T, srv *miniapitest.Server) error {
			quoting(t, srv, "secrets", "", "object.data.password == 'x'", "'bad: ' + object.data.password")
			return create(t, srv)
		}, "secrets", true},
		{"an expression that fails", "the expression's error quotes the secret", func(t *testing.T, srv *miniapitest.Server) error {
			quoting(t, srv, "secrets", "", "int(object.data.password) > 1", "'no'")
			return create(t, srv)
		}, "secrets", true},
		{"a policy with a Secret as parameters", "the policy's message about a ConfigMap quotes the parameters", func(t *testing.T, srv *miniapitest.Server) error {
			must(srv.Client().CoreV1().Secrets("default").Create(t.Context(), parameters, metav1.CreateOptions{}))(t)
			quoting(t, srv, "configmaps", "Secret", "object.metadata.name == string(params.data.password)", "'not ' + string(params.data.password)")
			return askedFor("default", unchangedConfigMap)(t.Context(), srv)
		}, "configmaps", true},
		{"an invalid Secret", "the error may quote the Secret", func(t *testing.T, srv *miniapitest.Server) error {
			invalid := secret()
			invalid.Type, invalid.Data = corev1.SecretTypeDockerConfigJson, map[string][]byte{corev1.DockerConfigJsonKey: []byte(password)}
			_, err := srv.Client().CoreV1().Secrets("default").Create(t.Context(), invalid, metav1.CreateOptions{})
			return err
		}, "secrets", true},
		{"a patch", "old and new object have secrets", func(t *testing.T, srv *miniapitest.Server) error {
			install(t, srv, validating("a", allow(), onSecrets))
			ok(t, create(t, srv))
			_, err := srv.Client().CoreV1().Secrets("default").Patch(t.Context(), "thing", types.MergePatchType, []byte(`{"stringData":{"more":"`+password+`"}}`), metav1.PatchOptions{})
			return err
		}, "secrets", false},
		{"an apply patch", "the text of an apply patch is a whole object", func(t *testing.T, srv *miniapitest.Server) error {
			install(t, srv, mutating("a", leaking(true), onSecrets))
			applied := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"thing"},"stringData":{"password":"` + password + `"}}`
			_, err := srv.Client().CoreV1().Secrets("default").Patch(t.Context(), "thing", types.ApplyPatchType, []byte(applied), metav1.PatchOptions{FieldManager: "tester"})
			return err
		}, "secrets", false},
		{"a deletion", "the old object has secrets", func(t *testing.T, srv *miniapitest.Server) error {
			install(t, srv, validating("a", leaking(false), on("DELETE", "v1", "secrets")))
			ok(t, create(t, srv))
			return srv.Client().CoreV1().Secrets("default").Delete(t.Context(), "thing", metav1.DeleteOptions{})
		}, "secrets", true},
		{"a token to review", "a token is a secret", func(t *testing.T, srv *miniapitest.Server) error {
			install(t, srv, validating("a", leaking(false), on("*", "authentication.k8s.io/v1", "tokenreviews")))
			_, err := srv.Client().AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: password}}, metav1.CreateOptions{})
			return err
		}, "tokenreviews", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithFlags(recording),
				miniapitest.WithFeatureGates(map[string]bool{"ExcludeAdmissionWebhookVirtualResources": false})) // for the token to review
			err := test.do(t, srv)
			if (err != nil) != test.refused {
				t.Fatalf("%s: want a refusal: %t, got %v", test.reason, test.refused, err)
			}
			for _, output := range []string{"json", "text", "wide"} {
				kept := string(must(srv.Client().Discovery().RESTClient().Get().AbsPath(admissiontrace.RequestsPath).Param("output", output).DoRaw(t.Context()))(t))
				if !strings.Contains(kept, "thing") && test.resource != "tokenreviews" {
					t.Errorf("want the request in the output %s, got %s", output, kept)
				}
				for _, value := range []string{password, half, base64.StdEncoding.EncodeToString([]byte(password)), base64.StdEncoding.EncodeToString([]byte(password + "-more"))} {
					if at := strings.Index(kept, value); at >= 0 {
						t.Errorf("%s: %s has the secret in …%s…", test.reason, output, kept[max(0, at-300):min(len(kept), at+60)])
					}
				}
			}
			requests := recorded(t, srv, test.resource)
			for _, request := range requests {
				for _, admission := range request.Admissions {
					for _, step := range admission.Steps {
						for _, webhook := range step.Webhooks {
							if webhook.Call != nil {
								withoutPatchedSecrets(t, webhook.Call)
							}
						}
					}
				}
			}
		})
	}
}

// withoutPatchedSecrets checks the patch of a recorded response. The patch is encoded, so a search in the response
// wouldn't find a secret in it.
func withoutPatchedSecrets(t *testing.T, call *trace.Call) {
	t.Helper()
	var review admissionv1.AdmissionReview
	if len(call.Response) == 0 || json.Unmarshal(call.Response, &review) != nil || review.Response == nil {
		return
	}
	if review.Response.UID == "" {
		t.Errorf("want the uid in the response, got %s", call.Response)
	}
	patch := string(review.Response.Patch)
	if strings.Contains(patch, password) || strings.Contains(patch, base64.StdEncoding.EncodeToString([]byte(password))) {
		t.Errorf("want no secret in the patch of the response, got %s", patch)
	}
	if strings.Contains(patch, "op") && !strings.Contains(patch, "/data/more") {
		t.Errorf("want the path of the patch, got %s", patch)
	}
}
