package admissionwebhook

import (
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// TestApplyComparesNumbersByTheirTexts checks that the operation "test" compares numbers as kube-apiserver does: by
// their texts, at any depth. RFC 6902, section 4.6, compares their values. A webhook that relies on the RFC must fail
// here as it fails with kube-apiserver.
func TestApplyComparesNumbersByTheirTexts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, tested string
		applies              bool
	}{
		{"same text", "the texts are equal", `{"n":1,"list":[1]}`, true},
		{"other text", "1.0 is another text than 1", `{"n":1.0,"list":[1]}`, false},
		{"other text in a list", "numbers in lists are compared by their texts, too", `{"n":1,"list":[1.0]}`, false},
	} {
		patch, err := jsonpatch.DecodePatch([]byte(`[{"op":"test","path":"/spec","value":` + test.tested + `}]`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := apply(patch, []byte(`{"spec":{"n":1,"list":[1]}}`)); (err == nil) != test.applies {
			t.Errorf("%s: error %v (%s)", test.name, err, test.reason)
		}
	}
}
