package integration_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// For a deletion, webhooks of both kinds get the deleted object as oldObject, and null as object.
func TestDeleteSendsTheExistingObject(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	prepare(t, srv.Client(), true)
	existing := stored(t, srv.Client())
	recorder := install(t, srv, mutating("mutate", allow(), reviewVersions("v1beta1")), validating("validate", allow()))
	ok(t, srv.Client().CoreV1().ConfigMaps("default").Delete(t.Context(), "thing", metav1.DeleteOptions{}))

	if diff := cmp.Diff([]string{"mutate", "validate"}, called(recorder)); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
	for _, review := range recorder.Reviews() {
		r := review.Request
		if r.Operation != admissionv1.Delete || r.Name != "thing" || r.Namespace != "default" {
			t.Errorf("%s: want DELETE of default/thing, got %s of %s/%s", review.Path, r.Operation, r.Namespace, r.Name)
		}
		if object, sent := sentAs(t, review, "object"); !sent || object != nil {
			t.Errorf("%s: want null as the object, got %s", review.Path, object)
		}
		old := decode[corev1.ConfigMap](t, r.OldObject.Raw)
		old.TypeMeta = metav1.TypeMeta{}
		if diff := cmp.Diff(existing, old); diff != "" {
			t.Errorf("%s: the old object (-stored +sent):\n%s", review.Path, diff)
		}
	}
}

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

// For a deletion, the objectSelector of a webhook is compared with the labels of the deleted object.
func TestDeleteIsSelectedByTheExistingObject(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	maps := srv.Client().CoreV1().ConfigMaps("default")
	recorder := install(t, srv, validating("validate", deny("it is guarded"), on("DELETE", "v1", "configmaps"), objectSelector(map[string]string{"guarded": "yes"})))
	for name, labels := range map[string]map[string]string{"guarded": {"guarded": "yes"}, "plain": nil} {
		must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}))(t)
	}
	ok(t, maps.Delete(t.Context(), "plain", metav1.DeleteOptions{}))
	if err := maps.Delete(t.Context(), "guarded", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want the object with the label guarded, got %v", err)
	}
	if name := only(t, recorder).Name; name != "guarded" {
		t.Errorf("want a review of the object with the label, got one of %q", name)
	}
}

// If an object has finalizers, the request for its deletion is reviewed. The removal of the last finalizer is reviewed
// as an update, and deletes the object without another review.
func TestDeleteOfAnObjectWithFinalizers(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	maps := srv.Client().CoreV1().ConfigMaps("default")
	held := thing()
	held.Finalizers = []string{"example.com/hold"}
	must(maps.Create(t.Context(), held, metav1.CreateOptions{}))(t)
	recorder := install(t, srv, validating("validate", allow()))

	ok(t, maps.Delete(t.Context(), "thing", metav1.DeleteOptions{}))
	terminating := stored(t, srv.Client())
	if terminating == nil || terminating.DeletionTimestamp == nil {
		t.Fatalf("want the object to wait for its finalizer, got %v", terminating)
	}
	ok(t, maps.Delete(t.Context(), "thing", metav1.DeleteOptions{}))
	terminating.Finalizers = nil
	must(maps.Update(t.Context(), terminating, metav1.UpdateOptions{}))(t)
	if left := stored(t, srv.Client()); left != nil {
		t.Errorf("want the object to be gone with its last finalizer, got %v", left)
	}
	var operations []admissionv1.Operation
	for _, review := range recorder.Reviews() {
		operations = append(operations, review.Request.Operation)
	}
	// The deletion is requested twice, and both requests are reviewed.
	if diff := cmp.Diff([]admissionv1.Operation{"DELETE", "DELETE", "UPDATE"}, operations); diff != "" {
		t.Errorf("reviews (-want +got):\n%s", diff)
	}
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

// Webhooks aren't called for a deletion that the server refuses anyway.
func TestDeleteIsReviewedAfterItsChecks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	maps := srv.Client().CoreV1().ConfigMaps("default")
	for _, tc := range []struct {
		name, reason string
		object       string
		options      func(*corev1.ConfigMap) metav1.DeleteOptions
		refused      func(error) bool
		reviews      int
		stays        bool
	}{
		{
			"missing", "the object doesn't exist, so a review would have no object", "missing",
			func(*corev1.ConfigMap) metav1.DeleteOptions { return metav1.DeleteOptions{} }, apierrors.IsNotFound, 0, true,
		},
		{
			"precondition holds", "the object has the UID of the precondition", "thing",
			func(o *corev1.ConfigMap) metav1.DeleteOptions {
				return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}}
			}, nil, 1, false,
		},
		{
			"precondition on the uid", "the object has another UID", "thing",
			func(*corev1.ConfigMap) metav1.DeleteOptions {
				return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("another"))}}
			}, apierrors.IsConflict, 0, true,
		},
		{
			"precondition on the version", "the object has changed", "thing",
			func(*corev1.ConfigMap) metav1.DeleteOptions {
				return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: new("1")}}
			}, apierrors.IsConflict, 0, true,
		},
		{
			"dry run", "webhooks review a dry run like a request", "thing",
			func(*corev1.ConfigMap) metav1.DeleteOptions {
				return metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
			}, nil, 1, true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepare(t, srv.Client(), true)
			options := tc.options(stored(t, srv.Client()))
			recorder := install(t, srv, validating("validate", allow()))
			err := maps.Delete(t.Context(), tc.object, options)
			if tc.refused == nil && err != nil || tc.refused != nil && !tc.refused(err) {
				t.Errorf("%s: unexpected answer %v", tc.reason, err)
			}
			reviews := recorder.Reviews()
			if len(reviews) != tc.reviews {
				t.Errorf("%s: want %d reviews, got %d", tc.reason, tc.reviews, len(reviews))
			}
			for _, review := range reviews {
				if dryRun := len(options.DryRun) > 0; *review.Request.DryRun != dryRun {
					t.Errorf("want dryRun %t, got %t", dryRun, *review.Request.DryRun)
				}
			}
			if left := stored(t, srv.Client()); (left != nil) != tc.stays {
				t.Errorf("%s: the object stays: want %t, got %v", tc.reason, tc.stays, left)
			}
		})
	}
}

// A mutating webhook can refuse a deletion, but can't patch it, because there is no object.
func TestDeleteCannotBePatched(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	prepare(t, srv.Client(), true)
	install(t, srv, mutating("mutate", patch(miniapitest.Add("/data/by", "webhook")), failurePolicy("Ignore")))
	err := srv.Client().CoreV1().ConfigMaps("default").Delete(t.Context(), "thing", metav1.DeleteOptions{})
	want := `Internal error occurred: admission webhook "mutate.example.com" attempted to modify the object, which is not supported for this operation (configuration "mutate")`
	if !apierrors.IsInternalError(err) || err.Error() != want {
		t.Errorf("want %q, whatever the failure policy, got %v", want, err)
	}
	if stored(t, srv.Client()) == nil {
		t.Error("the object is gone")
	}
}
