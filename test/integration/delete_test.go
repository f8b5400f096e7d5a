package integration_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// sentAs returns a field of the request as the server has sent it in JSON, with nil for null. The second result tells
// whether the field exists.
func sentAs(t testing.TB, review miniapitest.Review, field string) (any, bool) {
	t.Helper()
	var sent struct{ Request map[string]any }
	if err := json.Unmarshal(review.Body, &sent); err != nil {
		t.Fatal(err)
	}
	value, found := sent.Request[field]
	return value, found
}

// A pod on a node is deleted after its grace period. Each request that shortens the grace period is reviewed, and so is
// the final deletion.
func TestDeleteWithGracePeriod(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	pods := srv.Client().CoreV1().Pods("default")
	running := pod("running")
	running.Spec.NodeName = "node"
	must(pods.Create(t.Context(), running, metav1.CreateOptions{}))(t)
	recorder := install(t, srv, validating("validate", allow(), on("DELETE", "v1", "pods")))

	for _, step := range []struct {
		reason string
		period *int64
		want   []int64
	}{
		{"the pod's own period is filled in", nil, []int64{30}},
		{"the pod is already being deleted", nil, []int64{30}},
		{"the grace period becomes shorter", new(int64(10)), []int64{30, 10}},
		{"without a grace period, the pod is updated and then deleted at once", new(int64(0)), []int64{30, 10, 0, 0}},
	} {
		ok(t, pods.Delete(t.Context(), "running", metav1.DeleteOptions{GracePeriodSeconds: step.period}))
		var got []int64
		for _, review := range recorder.Reviews() {
			got = append(got, *decode[metav1.DeleteOptions](t, review.Request.Options.Raw).GracePeriodSeconds)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: grace periods of the reviews (-want +got):\n%s", step.reason, diff)
		}
	}
	if _, err := pods.Get(t.Context(), "running", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("want the pod to be gone, got %v", err)
	}
}
