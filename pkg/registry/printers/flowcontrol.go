package printers

import (
	"cmp"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// FlowSchema is shown in the order in which schemas are matched.
var FlowSchema = ordered(Of(
	[]Column{
		NameColumn,
		Text("PriorityLevel", Doc(flowcontrolv1.PriorityLevelConfigurationReference{}, "name")),
		Text("MatchingPrecedence", Doc(flowcontrolv1.FlowSchemaSpec{}, "matchingPrecedence")),
		Text("DistinguisherMethod", Doc(flowcontrolv1.FlowSchemaSpec{}, "distinguisherMethod")),
		AgeColumn,
		Text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration"),
	},
	func(f *flowcontrolv1.FlowSchema) []any {
		distinguisher := None
		if m := f.Spec.DistinguisherMethod; m != nil {
			distinguisher = string(m.Type)
		}
		return []any{
			f.Name, f.Spec.PriorityLevelConfiguration.Name, int64(f.Spec.MatchingPrecedence), distinguisher,
			Since(f.CreationTimestamp), dangling(f),
		}
	}), func(a, b *flowcontrolv1.FlowSchema) int {
	return cmp.Or(
		cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence),
		cmp.Compare(a.Name, b.Name),
	)
})

func ordered[T any](p Printer, compare func(a, b *T) int) Printer {
	p.Compare = func(a, b runtime.Object) int { return compare(any(a).(*T), any(b).(*T)) }
	return p
}

// dangling says whether the schema's priority level is missing, if that is known.
func dangling(f *flowcontrolv1.FlowSchema) string {
	for _, condition := range f.Status.Conditions {
		if condition.Type == flowcontrolv1.FlowSchemaConditionDangling {
			return string(condition.Status)
		}
	}
	return "?"
}

// PriorityLevelConfiguration is shown by its share, and how its queues are made.
var PriorityLevelConfiguration = Of(
	[]Column{
		NameColumn,
		Text("Type", Doc(flowcontrolv1.PriorityLevelConfigurationSpec{}, "type")),
		Text("NominalConcurrencyShares", Doc(flowcontrolv1.LimitedPriorityLevelConfiguration{}, "nominalConcurrencyShares")),
		Text("Queues", Doc(flowcontrolv1.QueuingConfiguration{}, "queues")),
		Text("HandSize", Doc(flowcontrolv1.QueuingConfiguration{}, "handSize")),
		Text("QueueLengthLimit", Doc(flowcontrolv1.QueuingConfiguration{}, "queueLengthLimit")),
		AgeColumn,
	},
	func(p *flowcontrolv1.PriorityLevelConfiguration) []any {
		var shares, queues, hand, length any = None, None, None, None
		if limited := p.Spec.Limited; limited != nil {
			shares = int64(ptr.Deref(limited.NominalConcurrencyShares, 0))
			if q := limited.LimitResponse.Queuing; q != nil {
				queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
			}
		}
		return []any{p.Name, string(p.Spec.Type), shares, queues, hand, length, Since(p.CreationTimestamp)}
	})
