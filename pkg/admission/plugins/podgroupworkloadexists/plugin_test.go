package podgroupworkloadexists

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPodGroups(t *testing.T) {
	t.Parallel()
	workload := &schedulingv1beta1.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w"}}
	leaving := workload.DeepCopy()
	leaving.DeletionTimestamp, leaving.Finalizers = new(metav1.Now()), []string{"example.com/f"}
	group := func(namespace, workload string) *schedulingv1beta1.PodGroup {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}}
		if workload != "" {
			g.Spec.WorkloadRef = &schedulingv1beta1.WorkloadReference{WorkloadName: workload, TemplateName: "t"}
		}
		return g
	}
	tests := []struct {
		name, reason string
		workload     *schedulingv1beta1.Workload
		request      plugintest.Request
		refusal      string
	}{
		{name: "there", reason: "the workload exists before the group", workload: workload, request: plugintest.Create(group("ns", "w"))},
		{name: "none", reason: "a group needs no workload", workload: workload, request: plugintest.Create(group("ns", ""))},
		{name: "missing", reason: "a group needs the template of its workload", workload: workload,
			request: plugintest.Create(group("ns", "gone")),
			refusal: `workload "gone" of spec.workloadRef.workloadName does not exist`},
		{name: "of another namespace", reason: "a reference stays in its namespace", workload: workload,
			request: plugintest.Create(group("other", "w")),
			refusal: `workload "w" of spec.workloadRef.workloadName does not exist`},
		{name: "being deleted", reason: "a new group would outlive the workload", workload: leaving,
			request: plugintest.Create(group("ns", "w")),
			refusal: `workload "w" of spec.workloadRef.workloadName is being deleted`},
		{name: "update", reason: "a group may outlive its workload", workload: leaving,
			request: plugintest.Update(group("ns", "w"), group("ns", "w"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, test.workload)
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
