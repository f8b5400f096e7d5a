package builtin_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestScaleAsTable checks the columns of kubectl get --subresource=scale: the desired and the current number of
// replicas.
func TestScaleAsTable(t *testing.T) {
	t.Parallel()
	s := registrytest.New(t, builtin.Table(), registry.Dependencies{})
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 3}, Status: autoscalingv1.ScaleStatus{Replicas: 2},
	}
	for _, resource := range []schema.GroupResource{
		{Resource: "replicationcontrollers"}, {Group: "apps", Resource: "deployments"},
		{Group: "apps", Resource: "replicasets"}, {Group: "apps", Resource: "statefulsets"},
	} {
		t.Run(resource.String(), func(t *testing.T) {
			table, err := s.Storage(resource, resource.Resource+"/scale").(rest.TableConvertor).ConvertToTable(s.Context, scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			var columns []string
			for _, column := range table.ColumnDefinitions {
				columns = append(columns, column.Name)
			}
			if diff := cmp.Diff([]string{"Name", "Desired", "Available", "Age"}, columns); diff != "" {
				t.Fatalf("columns (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{"web", int64(3), int64(2)}, table.Rows[0].Cells[:3]); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

// TestScaleManagedFields checks the managed fields of a Scale. During an update, the managed fields name the
// managers of the number of replicas. A Scale in a response has no managed fields.
func TestScaleManagedFields(t *testing.T) {
	t.Parallel()
	s := registrytest.New(t, builtin.Table(), registry.Dependencies{})
	replicas := metav1.ManagedFieldsEntry{
		Manager: "scaler", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{replicas}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}},
			},
		},
	}
	builtin.Table().Scheme().Default(deployment)
	main := s.Store(appsv1.Resource("deployments"))
	if _, err := main.Create(s.Context, deployment, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale := s.Storage(appsv1.Resource("deployments"), "deployments/scale").(rest.Patcher)
	read, err := scale.Get(s.Context, "web", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if managed := registry.MetaOf(read).GetManagedFields(); managed != nil {
		t.Errorf("a scale that is read has managed fields: %v", managed)
	}
	var updating []metav1.ManagedFieldsEntry
	ctx := genericapirequest.WithRequestInfo(s.Context, &genericapirequest.RequestInfo{APIGroup: "apps", APIVersion: "v1"})
	updated, _, err := scale.Update(ctx, "web", rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		updating = registry.MetaOf(old).GetManagedFields()
		return old, nil
	}), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := replicas
	want.APIVersion = "autoscaling/v1"
	if diff := cmp.Diff([]metav1.ManagedFieldsEntry{want}, updating); diff != "" {
		t.Errorf("managed fields while it is updated (-want +got):\n%s", diff)
	}
	if managed := registry.MetaOf(updated).GetManagedFields(); managed != nil {
		t.Errorf("a scale that was updated has managed fields: %v", managed)
	}
}
