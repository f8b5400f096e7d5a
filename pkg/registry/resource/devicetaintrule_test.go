package resource

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func taintRule(taint resourcev1.DeviceTaint, selector *resourcev1.DeviceTaintSelector) *resourcev1.DeviceTaintRule {
	return &resourcev1.DeviceTaintRule{ObjectMeta: registrytest.ClusterStored("rule"), Spec: resourcev1.DeviceTaintRuleSpec{DeviceSelector: selector, Taint: taint}}
}

func TestDeviceTaintRule(t *testing.T) {
	t.Parallel()
	unknown := resourcev1.DeviceTaint{Key: "k", Effect: "Explode"}
	tooMany := taintRule(resourcev1.DeviceTaint{Key: "k", Effect: "None"}, nil)
	for i := range 9 {
		tooMany.Status.Conditions = append(tooMany.Status.Conditions,
			metav1.Condition{Type: string(rune('A' + i)), Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()})
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{{
		Name: "everything", Reason: "the empty selector matches all devices",
		Object: taintRule(resourcev1.DeviceTaint{Key: "e.com/k", Value: "v", Effect: "NoExecute"}, &resourcev1.DeviceTaintSelector{}),
	}, {
		Name: "nothing", Reason: "a taint has a key and an effect", Object: taintRule(resourcev1.DeviceTaint{}, nil),
		Want: []string{
			"spec.taint.key: Invalid value: \"\": name part must be non-empty",
			"spec.taint.key: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
			"spec.taint.effect: Required value",
		},
	}, {
		Name: "a node's effect", Reason: "devices have no preferences for pods",
		Object: taintRule(resourcev1.DeviceTaint{Key: "k", Effect: "PreferNoSchedule"}, nil),
		Want:   []string{`spec.taint.effect: Unsupported value: "PreferNoSchedule": supported values: "NoExecute", "NoSchedule", "None"`},
	}, {
		Name: "selector", Reason: "each given criterion is a name",
		Object: taintRule(resourcev1.DeviceTaint{Key: "k", Effect: "None"},
			&resourcev1.DeviceTaintSelector{Driver: ptr.To(""), Pool: ptr.To(""), Device: ptr.To("")}),
		Want: []string{
			"spec.deviceSelector.driver: Required value", "spec.deviceSelector.pool: Required value",
			`spec.deviceSelector.device: Invalid value: "": ` + notLabel,
		},
	}, {
		Name: "kept effect", Reason: "a newer server may have written the effect", Object: taintRule(unknown, nil),
		Old: taintRule(unknown, nil),
	}, {
		Name: "too many conditions", Reason: "the number of conditions is limited", Object: tooMany,
		Old: taintRule(unknown, nil), Status: true,
		Want: []string{"status.conditions: Too many: 9: must have at most 8 items"},
	}})
}

func TestDeviceTaintRuleColumns(t *testing.T) {
	t.Parallel()
	rule := taintRule(resourcev1.DeviceTaint{Key: "k", Value: "v", Effect: "NoExecute"}, nil)
	rule.ObjectMeta = registrytest.MonthOld("x")
	timed := rule.DeepCopy()
	timed.Spec.Taint.TimeAdded = ptr.To(registrytest.MonthAgo())
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{Name: "no time", Reason: "the row shows the taint", Object: rule, Want: []any{"x", "k", "v", "NoExecute", "", "30d"}},
		{Name: "time", Reason: "the taint may be younger or older than the rule", Object: timed,
			Want: []any{"x", "k", "v", "NoExecute", "30d", "30d"}},
	})
}
