package flowcontrol

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestFlowSchemaColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "no status", Reason: "without a condition, a missing priority level is unknown",
			Object: &flowcontrolv1.FlowSchema{ObjectMeta: registrytest.MonthOld("x"),
				Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 5}},
			Want: []any{"x", "", int64(5), "<none>", "30d", "?"},
		},
	})
}

func TestFlowSchemaErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "rules", Reason: "a rule has subjects of a known kind and at least one resource or URL",
			Object: &flowcontrolv1.FlowSchema{ObjectMeta: registrytest.ClusterStored("f"), Spec: flowcontrolv1.FlowSchemaSpec{
				MatchingPrecedence: 1, Rules: []flowcontrolv1.PolicyRulesWithSubjects{{Subjects: []flowcontrolv1.Subject{
					{Kind: flowcontrolv1.SubjectKindUser, Group: &flowcontrolv1.GroupSubject{Name: "g"}}}}}}},
			Want: []string{
				"spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
				"spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
				"spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
				"spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
				"spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
			},
		},
	})
}
