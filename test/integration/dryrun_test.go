package integration_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// dryRuns has a dry-run request of each kind, for the ConfigMap of prepare.
var dryRuns = []struct {
	name, reason string
	exists       bool
	do           func(context.Context, corev1client.ConfigMapInterface) error
}{
	{"create", "no object is created", false, func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
		_, err := maps.Create(ctx, thing(), metav1.CreateOptions{DryRun: dry})
		return err
	}},
	{"update", "the object stays unchanged", true, func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
		changed := thing()
		changed.Data["by"] = "dry run"
		_, err := maps.Update(ctx, changed, metav1.UpdateOptions{DryRun: dry})
		return err
	}},
	{"patch", "the object stays unchanged", true, func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
		_, err := maps.Patch(ctx, "thing", types.MergePatchType, []byte(`{"data":{"by":"dry run"}}`), metav1.PatchOptions{DryRun: dry})
		return err
	}},
	{"apply", "no manager owns another field", true, func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
		_, err := maps.Apply(ctx, corev1ac.ConfigMap("thing", "default").WithData(map[string]string{"by": "dry run"}), metav1.ApplyOptions{DryRun: dry, FieldManager: "test"})
		return err
	}},
	{"delete", "the object stays", true, func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
		return maps.Delete(ctx, "thing", metav1.DeleteOptions{DryRun: dry})
	}},
	{"deletecollection", "each object stays", true, func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
		return maps.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dry}, metav1.ListOptions{LabelSelector: "app=thing"})
	}},
}

// installV1beta1 creates a v1beta1 configuration, mutating or validating. Its webhooks have side effects that v1
// doesn't allow.
func installV1beta1(t *testing.T, srv *miniapitest.Server, kind string, handler http.Handler, changed fields) *miniapitest.Recorder {
	t.Helper()
	recorder := &miniapitest.Recorder{}
	served := srv.Webhook("/v1beta1", recorder.Handler(handler))
	webhook := webhookWith(fields{
		"rules":        ruleWith(fields{"operations": []any{"*"}, "resources": []any{"configmaps"}}),
		"clientConfig": fields{"url": served.URL(), "caBundle": base64.StdEncoding.EncodeToString(served.CABundle())},
	})
	for field, value := range changed {
		webhook[field] = value
	}
	client := clusterResources(srv, registrationV1beta1, resourceOf(kind))
	must(client.Create(t.Context(), configuration(registrationV1beta1, kind, "v1beta1", webhook), metav1.CreateOptions{}))(t)
	t.Cleanup(func() { ok(t, client.Delete(context.WithoutCancel(t.Context()), "v1beta1", metav1.DeleteOptions{})) })
	return recorder
}

// A webhook without side effects in dry runs is called for a dry run, with dryRun set in the request. A dry run fails
// if it must call a webhook that may have side effects, whatever its failure policy is. Nothing is stored.
func TestDryRun(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	maps := srv.Client().CoreV1().ConfigMaps("default")
	for _, sideEffects := range []struct {
		class, reason string
		asked         bool
	}{
		{"None", "the webhook never has side effects", true},
		{"NoneOnDryRun", "the review says that the request is a dry run", true},
		{"Some", "the side effects would stay", false},
		{"Unknown", "the webhook may have side effects", false},
	} {
		for _, kind := range configurationKinds {
			for _, tc := range dryRuns {
				t.Run(sideEffects.class+" "+kind+" "+tc.name, func(t *testing.T) {
					prepare(t, srv.Client(), tc.exists)
					before := stored(t, srv.Client())
					recorder := installV1beta1(t, srv, kind, allow(), fields{"sideEffects": sideEffects.class, "failurePolicy": "Ignore"})
					err := tc.do(t.Context(), maps)
					if sideEffects.asked {
						ok(t, err)
						if r := only(t, recorder); !*r.DryRun {
							t.Errorf("%s: want dryRun to be true", sideEffects.reason)
						}
					} else {
						if want := `admission webhook "test.example.com" does not support dry run`; !apierrors.IsBadRequest(err) || err.Error() != want {
							t.Errorf("%s: want %q, got %v", sideEffects.reason, want, err)
						}
						if calls := called(recorder); calls != nil {
							t.Errorf("%s: calls: %v", sideEffects.reason, calls)
						}
					}
					if diff := cmp.Diff(before, stored(t, srv.Client())); diff != "" {
						t.Errorf("want that %s, but what is stored has changed (-before +after):\n%s", tc.reason, diff)
					}
				})
			}
		}
	}
}

// A webhook with side effects doesn't disturb other requests, or dry runs that it isn't called for.
func TestSideEffectsOutsideOfDryRuns(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	for _, kind := range configurationKinds {
		t.Run(kind, func(t *testing.T) {
			prepare(t, srv.Client(), false)
			recorder := installV1beta1(t, srv, kind, allow(), fields{"sideEffects": "Some"})
			must(srv.Client().CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{DryRun: dry}))(t)
			must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
			if r := only(t, recorder); *r.DryRun || r.Resource.Resource != "configmaps" {
				t.Errorf("want the ConfigMap, not in a dry run, got %s, dryRun %t", r.Resource.Resource, *r.DryRun)
			}
		})
	}
}
