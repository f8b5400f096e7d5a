package recorder

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

const secretValue = "Z2VoZWlt"

// No secret value is kept, wherever it is in an object, a review or a patch. Everything else is kept.
func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	secret := trace.Kind{Version: "v1", Kind: "Secret"}
	patch := func(operations string) string {
		return `{"response":{"uid":"kept","patch":"` + base64.StdEncoding.EncodeToString([]byte(operations)) + `"}}`
	}
	tests := []struct {
		name, reason string
		redact       func(trace.Kind, []byte) []byte
		kind         trace.Kind
		in           string
		redacted     bool
	}{
		{"data", "keys are no secrets", object, secret, `{"metadata":{"name":"kept"},"data":{"kept":"` + secretValue + `"}}`, true},
		{"stringData", "stringData has the secret in plain text", object, secret, `{"stringData":{"kept":"` + secretValue + `"}}`, true},
		{"kubectl's copy", "the annotation of kubectl apply has a copy of the data", object, secret,
			`{"metadata":{"name":"kept","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + secretValue + `"}}}`,
			true},
		{"a token to review", "a token is a password", object,
			trace.Kind{Group: "authentication.k8s.io", Version: "v1beta1", Kind: "TokenReview"},
			`{"kept":1,"spec":{"token":"` + secretValue + `"}}`, true},
		{"a ConfigMap", "the data of a ConfigMap is no secret", object, trace.Kind{Version: "v1", Kind: "ConfigMap"},
			`{"data":{"kept":"` + secretValue + `"}}`, false},
		{"the review of an update", "both objects have secrets", review, secret,
			`{"request":{"uid":"kept","object":{"data":{"a":"` + secretValue + `"}},"oldObject":{"data":{"a":"` + secretValue + `"}}}}`,
			true},
		{"the review of a deletion", "the review has no new object", review, secret,
			`{"request":{"uid":"kept","object":null,"oldObject":{"data":{"a":"` + secretValue + `"}}}}`, true},
		{"a response", "the patch is encoded", answered, secret,
			patch(`[{"op":"add","path":"/data/x","value":"` + secretValue + `"}]`), true},
		{"a patch of a value", "the path leads into the data", jsonPatch, secret,
			`[{"op":"add","path":"/data/kept","value":"` + secretValue + `"}]`, true},
		{"a patch of all data", "the value has the data", jsonPatch, secret,
			`[{"op":"replace","path":"/data","value":{"kept":"` + secretValue + `"}}]`, true},
		{"a patch of the object", "the value has the data", jsonPatch, secret,
			`[{"op":"replace","path":"","value":{"kept":1,"data":{"a":"` + secretValue + `"}}}]`, true},
		{"a patch of the annotation", "the path of the annotation has an escaped slash", jsonPatch, secret,
			`[{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"` + secretValue + `"},{"op":"remove","path":"/kept"}]`,
			true},
		{"a patch of labels", "labels are no secrets", jsonPatch, secret,
			`[{"op":"add","path":"/metadata/labels/kept","value":"` + secretValue + `"}]`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := string(test.redact(test.kind, []byte(test.in)))
			if _, encoded, ok := strings.Cut(got, `"patch":"`); ok {
				decoded, _ := base64.StdEncoding.DecodeString(strings.TrimRight(encoded, `"}`))
				got += string(decoded)
			}
			if strings.Contains(got, secretValue) == test.redacted || !strings.Contains(got, "kept") {
				t.Errorf("%s: got %s", test.reason, got)
			}
		})
	}
}

func object(kind trace.Kind, raw []byte) []byte    { return new(redaction).object(kind, raw) }
func review(kind trace.Kind, raw []byte) []byte    { return new(redaction).review(kind, raw) }
func answered(kind trace.Kind, raw []byte) []byte  { return new(redaction).response(kind, raw) }
func jsonPatch(kind trace.Kind, raw []byte) []byte { return new(redaction).patch(kind, raw) }
