package integration_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// The answer about a failed call has the status, the address that was called, the certificate that wasn't accepted, the
// body of the response, and the remedy.
func TestWhyOfFailedCalls(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	another, err := newAuthority()
	ok(t, err)
	answer := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	for _, test := range []struct {
		name, reason string
		handler      http.Handler
		ca           []byte
		want         []string
	}{
		{"wrong path", "the webhook has no handler at the path", http.NotFoundHandler(), own.pem,
			[]string{". 404 from https://localhost:%d/hook at 127.0.0.1:%d. ", ". The answer is 404 page not found. ", ". Remedy: compare the path, without its query, with the paths that the webhook serves."}},
		{"error", "the webhook has failed", answer(http.StatusInternalServerError, "boom"), own.pem,
			[]string{". 500 from https://localhost:%d/hook at 127.0.0.1:%d. ", ". The answer is boom. ", ". Remedy: look into the log of the webhook"}},
		{"no JSON", "the response can't be decoded", answer(http.StatusOK, "<html>login</html>"), own.pem,
			[]string{". 200 from https://localhost:%d/hook at 127.0.0.1:%d. ", ". The answer is <html>login</html>. ", ". Remedy: answer with an AdmissionReview in JSON."}},
		{"no review", "the response lacks the uid", answer(http.StatusOK, `{"response":{"allowed":true}}`), own.pem,
			[]string{`. The answer is {"response":{"allowed":true}}. `, ". Remedy: set response.uid to request.uid."}},
		{"another authority", "the caBundle doesn't verify the certificate", allow(), another.pem,
			[]string{". No answer from https://localhost:%d/hook. ", ". The webhook presented a certificate for localhost, issued by ", "; the caBundle has an authority of the same name: ", ". Remedy: put the authority that issued the webhook's certificate into caBundle"}},
		{"no authority", "the system doesn't trust the certificate", allow(), nil,
			[]string{". The webhook presented a certificate for localhost, issued by ", "; the configuration has no caBundle", ". Remedy: put the authority"}},
		{"caBundle without PEM", "the server can't verify any certificate", allow(), []byte("LS0tLS1CRUdJTi"),
			[]string{"unable to load root certificates", ". Remedy: give caBundle certificates in PEM, encoded in base64 once."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			port := own.serve(t, test.handler, "localhost")
			install(t, srv, validating("hook", nil, at(admissionregistrationv1.WebhookClientConfig{CABundle: test.ca, URL: new(fmt.Sprintf("https://localhost:%d/hook", port))})))
			if err := createThing(t, srv); err == nil {
				t.Fatalf("%s: want the request to be refused", test.reason)
			}
			answers, err := srv.Admission().Why(trace.ValidatingConfiguration+"/hook", "configmaps/default/thing")
			ok(t, err)
			timeline, err := srv.Admission().Timeline("configmaps/default/thing")
			ok(t, err)
			for _, want := range test.want {
				want = strings.ReplaceAll(want, "%d", fmt.Sprint(port))
				if !strings.Contains(answers[0].Sentence, want) {
					t.Errorf("%s: want %q in the answer, got\n%s", test.reason, want, answers[0].Sentence)
				}
				if fact := strings.Trim(want, ". "); !strings.Contains(timeline, fact) {
					t.Errorf("%s: want %q in the timeline, got\n%s", test.reason, fact, timeline)
				}
			}
		})
	}
}

// The answer of a failed call about a Secret isn't kept, because it may quote the Secret.
func TestAnswersAboutSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(slices.Concat([]byte("not JSON: "), body))
	})
	install(t, srv, validating("echo", echo, on("CREATE", "v1", "secrets")))
	_, err := srv.Client().CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: named("s"), StringData: map[string]string{"p": "geheim"}}, metav1.CreateOptions{})
	if err == nil {
		t.Fatal("want the call to fail")
	}
	for _, step := range recorded(t, srv, "secrets")[0].Admissions[0].Steps {
		for _, webhook := range step.Webhooks {
			if webhook.Call.Answer != trace.Redacted || webhook.Call.Status != http.StatusOK {
				t.Errorf("want the status 200 and no answer, got %d %q", webhook.Call.Status, webhook.Call.Answer)
			}
		}
	}
}
