package integration_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The uid of each call of a webhook is unique: no other webhook, no repeated call, and no other request has the same
// uid.
func TestEachCallHasAUID(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	calls := map[string]string{} // the call of each uid
	for _, request := range requests {
		t.Run(request.name, func(t *testing.T) {
			prepare(t, srv.Client(), !request.creates)
			recorder := install(t, srv, mutating("again", allow(), mayBeReinvoked), mutating("change", stamp("1")), validating("v1", allow()), validating("v1beta1", allow(), reviewVersions("v1beta1")))
			ok(t, request.do(t.Context(), srv.Client()))
			want := []string{"again", "again", "change", "v1", "v1beta1"}
			if request.deletes {
				// A deletion has no object that could change, so no webhook is called again.
				want = slices.Delete(want, 1, 2)
			}
			if diff := cmp.Diff(want, calledSorted(recorder)); diff != "" {
				t.Errorf("%s: calls (-want +got):\n%s", request.reason, diff)
			}
			for _, review := range recorder.Reviews() {
				call := request.name + " " + review.Path
				sent, _ := sentAs(t, review, "uid")
				uid, isText := sent.(string)
				if !isText || uid == "" {
					t.Errorf("%s: want a uid, got %v", call, sent)
				}
				if other, known := calls[uid]; known {
					t.Errorf("%s: the uid %q is that of %s", call, uid, other)
				}
				calls[uid] = call
			}
		})
	}
}
