package integration_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Reviews have the options of the request. The kind of the options depends on the operation, such as
// CreateOptions.
func TestOptionsAreSent(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	dryRun := []string{metav1.DryRunAll}
	options := func(kind string, fields map[string]any) map[string]any {
		all := map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": kind}
		for key, value := range fields {
			all[key] = value
		}
		return all
	}
	for _, tc := range []struct {
		name, reason string
		exists       bool
		do           func(context.Context, corev1client.ConfigMapInterface) error
		want         map[string]any
	}{
		{
			"create", "without options, the review still has their kind and version", false,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				_, err := maps.Create(ctx, thing(), metav1.CreateOptions{})
				return err
			}, options("CreateOptions", nil),
		},
		{
			"create with all options", "each option is passed", false,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				_, err := maps.Create(ctx, thing(), metav1.CreateOptions{DryRun: dryRun, FieldManager: "me", FieldValidation: "Strict"})
				return err
			}, options("CreateOptions", map[string]any{"dryRun": []any{"All"}, "fieldManager": "me", "fieldValidation": "Strict"}),
		},
		{
			"update", "an update has UpdateOptions", true,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				_, err := maps.Update(ctx, thing(), metav1.UpdateOptions{DryRun: dryRun, FieldManager: "me", FieldValidation: "Warn"})
				return err
			}, options("UpdateOptions", map[string]any{"dryRun": []any{"All"}, "fieldManager": "me", "fieldValidation": "Warn"}),
		},
		{
			"patch", "a patch is an update", true,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				_, err := maps.Patch(ctx, "thing", types.MergePatchType, []byte(`{"data":{"by":"patch"}}`), metav1.PatchOptions{FieldManager: "me", FieldValidation: "Ignore"})
				return err
			}, options("UpdateOptions", map[string]any{"fieldManager": "me", "fieldValidation": "Ignore"}),
		},
		{
			"apply", "an apply is reviewed as an update, and UpdateOptions have no field force", true,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				_, err := maps.Apply(ctx, corev1ac.ConfigMap("thing", "default").WithData(map[string]string{"by": "apply"}),
					metav1.ApplyOptions{DryRun: dryRun, FieldManager: "me", Force: true})
				return err
			}, options("UpdateOptions", map[string]any{"dryRun": []any{"All"}, "fieldManager": "me"}),
		},
		{
			"apply to create", "an apply of an object that doesn't exist is a create", false,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				_, err := maps.Apply(ctx, corev1ac.ConfigMap("thing", "default").WithData(map[string]string{"by": "apply"}),
					metav1.ApplyOptions{FieldManager: "me"})
				return err
			}, options("CreateOptions", map[string]any{"fieldManager": "me"}),
		},
		{
			"delete", "the server sets no options except for the grace period of the kind", true,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				return maps.Delete(ctx, "thing", metav1.DeleteOptions{})
			}, options("DeleteOptions", nil),
		},
		{
			"delete with options", "the body of the request is passed", true,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				return maps.Delete(ctx, "thing", metav1.DeleteOptions{DryRun: dryRun, PropagationPolicy: new(metav1.DeletePropagationBackground)})
			}, options("DeleteOptions", map[string]any{"dryRun": []any{"All"}, "propagationPolicy": "Background"}),
		},
		{
			"deletecollection", "each review has the options of the request", true,
			func(ctx context.Context, maps corev1client.ConfigMapInterface) error {
				return maps.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{LabelSelector: "app=thing"})
			}, options("DeleteOptions", map[string]any{"propagationPolicy": "Background"}),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepare(t, srv.Client(), tc.exists)
			recorder := install(t, srv, mutating("mutate", allow()), validating("v1", allow()), validating("v1beta1", allow(), reviewVersions("v1beta1")))
			ok(t, tc.do(t.Context(), srv.Client().CoreV1().ConfigMaps("default")))
			for _, review := range recorder.Reviews() {
				got, _ := sentAs(t, review, "options")
				if diff := cmp.Diff(any(tc.want), got); diff != "" {
					t.Errorf("%s: options sent to %s (-want +got):\n%s", tc.reason, review.Path, diff)
				}
			}
			if reviews := recorder.Reviews(); len(reviews) != 3 {
				t.Errorf("want the three webhooks to be called once each, got %v", called(recorder))
			}
		})
	}
}
