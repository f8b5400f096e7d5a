package integration_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// meddled is a label that another user adds to the ConfigMap during a review.
const meddled = "meddled"

// meddle returns a webhook's handler. During its first call, another user changes the ConfigMap.
func meddle(ctx context.Context, meddler kubernetes.Interface) http.Handler {
	var once atomic.Bool
	return answering(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if once.CompareAndSwap(false, true) {
			if _, err := meddler.CoreV1().ConfigMaps("default").Patch(ctx, "thing", types.MergePatchType, []byte(`{"metadata":{"labels":{"`+meddled+`":"yes"}}}`), metav1.PatchOptions{}); err != nil {
				return miniapitest.Denied(err.Error())
			}
		}
		return miniapitest.Allowed()
	})
}

// notOf returns a change that excludes the requests of a user from a hook.
func notOf(user string) change {
	return func(h *hook) {
		h.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "others", Expression: "request.userInfo.username != '" + user + "'"}}
	}
}

// If an object changes while webhooks review a request for it, the server repeats the request with the changed object,
// and calls all webhooks again.
func TestReviewsAreRepeatedWhenTheObjectChanges(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	grant(t, srv, "meddler", rbacRule("", "patch", "configmaps"))
	meddler := clientOf(t, srv, "meddler")
	for _, request := range requests {
		if request.creates {
			continue // a create has no object that could change
		}
		t.Run(request.name, func(t *testing.T) {
			prepare(t, srv.Client(), true)
			recorder := install(t, srv, mutating("mutate", stamp("1"), notOf("meddler")), validating("validate", meddle(t.Context(), meddler), notOf("meddler")))
			ok(t, request.do(t.Context(), srv.Client()))

			if diff := cmp.Diff([]string{"mutate", "validate", "mutate", "validate"}, called(recorder)); diff != "" {
				t.Fatalf("%s: calls (-want +got):\n%s", request.reason, diff)
			}
			var got []string
			for _, review := range recorder.Reviews() {
				got = append(got, decode[corev1.ConfigMap](t, review.Request.OldObject.Raw).Labels[meddled])
			}
			if diff := cmp.Diff([]string{"", "", "yes", "yes"}, got); diff != "" {
				t.Errorf("%s: label of the old objects (-want +got):\n%s", request.reason, diff)
			}
			after := stored(t, srv.Client())
			if request.deletes {
				if after != nil {
					t.Errorf("%s: want the object to be gone, got %v", request.reason, after)
				}
				return
			}
			if stamps(after) != "1" {
				t.Errorf("%s: want what the webhook has done to be stored, got %v", request.reason, after.Data)
			}
			// An update with a whole object removes the label that the other user has added. A patch keeps it.
			want := "yes"
			if request.name == "update" {
				want = ""
			}
			if got := after.Labels[meddled]; got != want {
				t.Errorf("%s: want the label %q stored, got %q", request.reason, want, got)
			}
		})
	}
}

// If a request names a resource version and the object changes during the reviews, the server doesn't repeat the
// request. The client gets a conflict.
func TestReviewsOfOneVersionAreNotRepeated(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	grant(t, srv, "meddler", rbacRule("", "patch", "configmaps"))
	meddler := clientOf(t, srv, "meddler")
	for _, tc := range []struct {
		name, reason string
		do           func(context.Context, *corev1.ConfigMap) error
	}{
		{"update", "the object has the version", func(ctx context.Context, existing *corev1.ConfigMap) error {
			existing.Data["by"] = "update"
			_, err := srv.Client().CoreV1().ConfigMaps("default").Update(ctx, existing, metav1.UpdateOptions{})
			return err
		}},
		{"merge patch", "the patch has the version", func(ctx context.Context, existing *corev1.ConfigMap) error {
			_, err := srv.Client().CoreV1().ConfigMaps("default").Patch(ctx, "thing", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"`+existing.ResourceVersion+`"},"data":{"by":"patch"}}`), metav1.PatchOptions{})
			return err
		}},
		{"delete", "the precondition has the version", func(ctx context.Context, existing *corev1.ConfigMap) error {
			return srv.Client().CoreV1().ConfigMaps("default").Delete(ctx, "thing", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &existing.ResourceVersion}})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepare(t, srv.Client(), true)
			recorder := install(t, srv, validating("validate", meddle(t.Context(), meddler), notOf("meddler")))
			err := tc.do(t.Context(), stored(t, srv.Client()))
			if !apierrors.IsConflict(err) {
				t.Errorf("%s: want a conflict, got %v", tc.reason, err)
			}
			if diff := cmp.Diff([]string{"validate"}, called(recorder)); diff != "" {
				t.Errorf("%s: calls (-want +got):\n%s", tc.reason, diff)
			}
			if after := stored(t, srv.Client()); after == nil || after.Labels[meddled] != "yes" || after.Data["by"] != "" {
				t.Errorf("%s: want the other change alone, got %v", tc.reason, after)
			}
		})
	}
}
