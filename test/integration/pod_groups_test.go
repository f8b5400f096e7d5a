package integration_test

import (
	"strings"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A PodGroup is refused if its Workload doesn't exist. A PodGroup gets the priority of its priority
// class.
func TestPodGroups(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := must(kubernetes.NewForConfig(miniapitest.Start(t, miniapitest.WithAPIs("scheduling.k8s.io/v1beta1"), miniapitest.WithFeatureGates(workloads)).Config()))(t)
	must(client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{}))(t)
	policy := schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: schedulingv1beta1.PodGroupSpec{
		WorkloadRef:      &schedulingv1beta1.WorkloadReference{WorkloadName: "w", TemplateName: "workers"},
		SchedulingPolicy: policy, PriorityClassName: "high",
	}}
	groups := client.SchedulingV1beta1().PodGroups("default")
	if _, err := groups.Create(ctx, group, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), `workload "w"`) {
		t.Errorf("a group of no workload: %v, want it to be refused", err)
	}
	workload := &schedulingv1beta1.Workload{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
	workload.Spec.PodGroupTemplates = []schedulingv1beta1.PodGroupTemplate{{Name: "workers", SchedulingPolicy: policy}}
	must(client.SchedulingV1beta1().Workloads("default").Create(ctx, workload, metav1.CreateOptions{}))(t)
	got := must(groups.Create(ctx, group, metav1.CreateOptions{}))(t)
	if p := got.Spec.Priority; p == nil || *p != 1000 {
		t.Errorf("priority of a group of class high: %v, want 1000", p)
	}
}
