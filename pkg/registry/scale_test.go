package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// kubectl get --subresource=scale shows how many replicas there are to be, and are.
func TestScaleAsTable(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 3}, Status: autoscalingv1.ScaleStatus{Replicas: 2},
	}
	for _, resource := range []schema.GroupResource{
		{Resource: "replicationcontrollers"}, {Group: "apps", Resource: "deployments"},
		{Group: "apps", Resource: "replicasets"}, {Group: "apps", Resource: "statefulsets"},
	} {
		t.Run(resource.String(), func(t *testing.T) {
			main := s.store(resource)
			for _, subresource := range main.kind.Subresources {
				if subresource.Name != "scale" {
					continue
				}
				storage, err := subresource.Storage(main, s.builder.deps)
				if err != nil {
					t.Fatal(err)
				}
				table, err := storage.(rest.TableConvertor).ConvertToTable(s.ctx, scale, nil)
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
				return
			}
			t.Error("no scale subresource")
		})
	}
}
