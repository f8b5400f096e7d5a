package integration_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Each call has its own uid: calls of other webhooks for the same request, a second call of the same webhook, and calls
// for other requests have others.
func TestEachCallHasAUID(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	calls := map[string]string{} // by uid
	for _, request := range requests {
		t.Run(request.name, func(t *testing.T) {
			prepare(t, srv.Client(), !request.creates)
			recorder := install(t, srv, mutating("again", allow(), mayBeReinvoked), mutating("change", stamp("1")), validating("v1", allow()), validating("v1beta1", allow(), reviewVersions("v1beta1")))
			ok(t, request.do(t.Context(), srv.Client()))
			want := []string{"again", "again", "change", "v1", "v1beta1"}
			if request.deletes {
				want = slices.Delete(want, 1, 2) // there is no object that could change
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
