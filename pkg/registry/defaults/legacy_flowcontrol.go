package defaults

import (
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
)

// FlowcontrolV1beta1FlowSchema sets the defaults of a
// flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema.
func FlowcontrolV1beta1FlowSchema(s *flowcontrolv1beta1.FlowSchema) {
	Zero(&s.Spec.MatchingPrecedence, matchingPrecedence)
}

// FlowcontrolV1beta2FlowSchema sets the defaults of a
// flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema.
func FlowcontrolV1beta2FlowSchema(s *flowcontrolv1beta2.FlowSchema) {
	Zero(&s.Spec.MatchingPrecedence, matchingPrecedence)
}

// FlowcontrolV1beta3FlowSchema sets the defaults of a
// flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema.
func FlowcontrolV1beta3FlowSchema(s *flowcontrolv1beta3.FlowSchema) {
	Zero(&s.Spec.MatchingPrecedence, matchingPrecedence)
}

// FlowcontrolV1beta1PriorityLevelConfiguration sets the defaults of a
// flowcontrol.apiserver.k8s.io/v1beta1 PriorityLevelConfiguration.
func FlowcontrolV1beta1PriorityLevelConfiguration(c *flowcontrolv1beta1.PriorityLevelConfiguration) {
	if e := c.Spec.Exempt; e != nil {
		Pointer(&e.NominalConcurrencyShares, 0)
		Pointer(&e.LendablePercent, 0)
	}
	if l := c.Spec.Limited; l != nil {
		Zero(&l.AssuredConcurrencyShares, concurrencyShares)
		Pointer(&l.LendablePercent, 0)
		if q := l.LimitResponse.Queuing; q != nil {
			queuing(&q.HandSize, &q.Queues, &q.QueueLengthLimit)
		}
	}
}

// FlowcontrolV1beta2PriorityLevelConfiguration sets the defaults of a
// flowcontrol.apiserver.k8s.io/v1beta2 PriorityLevelConfiguration.
func FlowcontrolV1beta2PriorityLevelConfiguration(c *flowcontrolv1beta2.PriorityLevelConfiguration) {
	if e := c.Spec.Exempt; e != nil {
		Pointer(&e.NominalConcurrencyShares, 0)
		Pointer(&e.LendablePercent, 0)
	}
	if l := c.Spec.Limited; l != nil {
		Zero(&l.AssuredConcurrencyShares, concurrencyShares)
		Pointer(&l.LendablePercent, 0)
		if q := l.LimitResponse.Queuing; q != nil {
			queuing(&q.HandSize, &q.Queues, &q.QueueLengthLimit)
		}
	}
}

// FlowcontrolV1beta3PriorityLevelConfiguration sets the defaults of a
// flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration. Shares of zero,
// which v1 tells from none, are marked by an annotation.
func FlowcontrolV1beta3PriorityLevelConfiguration(c *flowcontrolv1beta3.PriorityLevelConfiguration) {
	if e := c.Spec.Exempt; e != nil {
		Pointer(&e.NominalConcurrencyShares, 0)
		Pointer(&e.LendablePercent, 0)
	}
	if l := c.Spec.Limited; l != nil {
		if _, meant := c.Annotations[flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey]; !meant {
			Zero(&l.NominalConcurrencyShares, concurrencyShares)
		}
		Pointer(&l.LendablePercent, 0)
		if q := l.LimitResponse.Queuing; q != nil {
			queuing(&q.HandSize, &q.Queues, &q.QueueLengthLimit)
		}
	}
}
