package replay

import (
	"fmt"
	"reflect"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/jsonpatch"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews/internal/lines"
)

// answer has the parts of an exchange that Diff compares.
type answer struct {
	// Response is the AdmissionReview without its patch.
	Response any `json:"response,omitempty"`
	// Patched is the object of the request with the patch. If the patch can't be applied, Patched is the patch with the
	// reason. It is left out if both exchanges have the same patch.
	Patched any    `json:"patched,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// Diff returns the difference between the responses of two exchanges, as lines of JSON, or "". Two patches are equal if
// they change the request's object in the same way.
func Diff(recorded, got reviews.Exchange) (string, error) {
	recorded, err := recorded.Normalise()
	if err != nil {
		return "", err
	}
	if got, err = got.Normalise(); err != nil {
		return "", err
	}
	want, wantPatch, err := answerOf(recorded)
	if err != nil {
		return "", err
	}
	have, havePatch, err := answerOf(got)
	if err != nil {
		return "", err
	}
	if !reflect.DeepEqual(wantPatch, havePatch) {
		request, err := tree.Decode(recorded.Request)
		if err != nil {
			return "", err
		}
		object := tree.At(request, "request", "object")
		want.Patched, have.Patched = patched(object, wantPatch), patched(object, havePatch)
	}
	wantText, err := tree.Encode(want)
	if err != nil {
		return "", err
	}
	haveText, err := tree.Encode(have)
	if err != nil {
		return "", err
	}
	return lines.Diff(string(wantText), string(haveText)), nil
}

// answerOf returns the compared parts of an exchange, and its patch.
func answerOf(e reviews.Exchange) (answer, any, error) {
	response, err := tree.Decode(e.Response)
	if err != nil {
		return answer{}, nil, err
	}
	fields, _ := tree.At(response, "response").(map[string]any)
	patch := fields["patch"]
	delete(fields, "patch")
	return answer{Response: response, Failure: e.Failure}, patch, nil
}

// patched returns an object with a patch. If the patch can't be applied, it returns the patch and the reason.
func patched(object, patch any) any {
	if patch == nil {
		return object
	}
	result, err := jsonpatch.Apply(object, patch)
	if err != nil {
		return map[string]any{"patch": patch, "error": fmt.Sprintf("the patch can't be applied: %v", err)}
	}
	return result
}
