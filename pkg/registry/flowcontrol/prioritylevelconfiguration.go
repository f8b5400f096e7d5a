package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/util/shufflesharding"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// priorityLevelConfigurationKind is the row of prioritylevelconfigurations in the server's table of kinds.
var priorityLevelConfigurationKind = registry.Kind{
	Resource: "prioritylevelconfigurations",
	Object:   &flowcontrolv1.PriorityLevelConfiguration{}, List: &flowcontrolv1.PriorityLevelConfigurationList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultPriorityLevelConfiguration),
		registry.DefaultOf(defaultPriorityLevelConfigurationV1beta1),
		registry.DefaultLike[flowcontrolv1beta2.PriorityLevelConfiguration](defaultPriorityLevelConfigurationV1beta1),
		registry.DefaultOf(defaultPriorityLevelConfigurationV1beta3),
	},
	Status:              true,
	StatusKeepsMetadata: true,
	Generation:          true,
	Printer:             &priorityLevelConfigurationColumns,
	Hooks: registry.HooksOf[*flowcontrolv1.PriorityLevelConfiguration]{
		PrepareForStatusUpdate: keepMetadata(func(o *flowcontrolv1.PriorityLevelConfiguration) *metav1.ObjectMeta { return &o.ObjectMeta }),
		Validate:               validatePriorityLevelConfiguration,
		ValidateUpdate:         validatePriorityLevelConfigurationUpdate,
		ValidateStatusUpdate:   validatePriorityLevelConfigurationStatusUpdate,
	},
}

// concurrencyShares is the default nominalConcurrencyShares of a priority level.
const concurrencyShares int32 = 30

func defaultPriorityLevelConfiguration(c *flowcontrolv1.PriorityLevelConfiguration) {
	exempt(c.Spec.Exempt)
	if l := c.Spec.Limited; l != nil {
		defaults.Pointer(&l.NominalConcurrencyShares, concurrencyShares)
		limited(&l.LendablePercent, l.LimitResponse.Queuing)
	}
}

func defaultPriorityLevelConfigurationV1beta1(c *flowcontrolv1beta1.PriorityLevelConfiguration) {
	exempt((*flowcontrolv1.ExemptPriorityLevelConfiguration)(c.Spec.Exempt))
	if l := c.Spec.Limited; l != nil {
		defaults.Zero(&l.AssuredConcurrencyShares, concurrencyShares)
		limited(&l.LendablePercent, (*flowcontrolv1.QueuingConfiguration)(l.LimitResponse.Queuing))
	}
}

// defaultPriorityLevelConfigurationV1beta3 sets the defaults of a flowcontrol.apiserver.k8s.io/v1beta3
// PriorityLevelConfiguration. If an annotation marks that the client has set the shares to 0, they stay 0. v1
// doesn't need the annotation, because its field distinguishes 0 from a missing value.
func defaultPriorityLevelConfigurationV1beta3(c *flowcontrolv1beta3.PriorityLevelConfiguration) {
	exempt((*flowcontrolv1.ExemptPriorityLevelConfiguration)(c.Spec.Exempt))
	if l := c.Spec.Limited; l != nil {
		if _, meant := c.Annotations[flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey]; !meant {
			defaults.Zero(&l.NominalConcurrencyShares, concurrencyShares)
		}
		limited(&l.LendablePercent, (*flowcontrolv1.QueuingConfiguration)(l.LimitResponse.Queuing))
	}
}

func exempt(e *flowcontrolv1.ExemptPriorityLevelConfiguration) {
	if e != nil {
		defaults.Pointer(&e.NominalConcurrencyShares, 0)
		defaults.Pointer(&e.LendablePercent, 0)
	}
}

// limited sets the defaults of a priority level of the type Limited, except the default of the shares.
func limited(lendablePercent **int32, q *flowcontrolv1.QueuingConfiguration) {
	defaults.Pointer(lendablePercent, 0)
	if q != nil {
		defaults.Zero(&q.HandSize, 8)
		defaults.Zero(&q.Queues, 64)
		defaults.Zero(&q.QueueLengthLimit, 50)
	}
}

// validatePriorityLevelConfiguration checks a new level.
func validatePriorityLevelConfiguration(o *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	// Only v1beta3 has this annotation, and the conversion from v1beta3 removes it.
	_, marked := o.Annotations[flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey]
	f.AddIf(marked, field.Forbidden(validation.MetadataPath.Child("annotations"),
		fmt.Sprintf("annotation '%s' is forbidden", flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey)))
	f.Merge(priorityLevelSpec(o))
	for _, fixed := range bootstrap.MandatoryPriorityLevelConfigurations {
		if fixed.Name != o.Name {
			continue
		}
		spec, msg := o.Spec, "spec of '%s' must equal the fixed value"
		if o.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt {
			spec.Exempt, msg = fixed.Spec.Exempt, "spec of '%s' except the 'spec.exempt' field must equal the fixed value"
		}
		f.AddIf(!apiequality.Semantic.DeepEqual(spec, fixed.Spec),
			field.Invalid(field.NewPath("spec"), validation.Unversioned(o.Spec), fmt.Sprintf(msg, o.Name)))
	}
	f.Merge(validatePriorityLevelConfigurationStatusUpdate(o, nil))
	return f.Errs
}

func validatePriorityLevelConfigurationUpdate(o, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return validatePriorityLevelConfiguration(o)
}

// validatePriorityLevelConfigurationStatusUpdate checks the status, which the server itself writes.
func validatePriorityLevelConfigurationStatusUpdate(o, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return flowConditions(o.Status.Conditions, func(c flowcontrolv1.PriorityLevelConfigurationCondition) string { return string(c.Type) })
}

func priorityLevelSpec(o *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	isExempt := o.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	f.AddIf((o.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != isExempt,
		field.Invalid(path.Child("type"), o.Spec.Type, "must be 'Exempt' if and only if `name` is 'exempt'"))
	switch o.Spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if e := o.Spec.Exempt; e != nil {
			f.Merge(levelShares(path.Child("exempt"), e.NominalConcurrencyShares, e.LendablePercent))
		}
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if l := o.Spec.Limited; l != nil {
			limited := path.Child("limited")
			f.Merge(levelShares(limited, l.NominalConcurrencyShares, nil), limitResponse(limited.Child("limitResponse"), &l.LimitResponse),
				levelShares(limited, nil, l.LendablePercent))
			if p := l.BorrowingLimitPercent; p != nil {
				f.AddIf(*p < 0, field.Invalid(limited.Child("borrowingLimitPercent"), *p, "if specified, must be a non-negative integer"))
			}
		}
	case "":
	default:
		f.Add(field.NotSupported(path.Child("type"), o.Spec.Type, []flowcontrolv1.PriorityLevelEnablement{
			flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited}))
	}
	return f.Errs
}

func levelShares(path *field.Path, shares, lendable *int32) field.ErrorList {
	var f validation.Findings
	if shares != nil {
		f.AddIf(*shares < 0, field.Invalid(path.Child("nominalConcurrencyShares"), *shares, "must be a non-negative integer"))
	}
	if lendable != nil {
		f.AddIf(*lendable < 0 || *lendable > 100, field.Invalid(path.Child("lendablePercent"), *lendable, "must be between 0 and 100, inclusive"))
	}
	return f.Errs
}

const maxFlowQueues = 10_000_000

func limitResponse(path *field.Path, r *flowcontrolv1.LimitResponse) field.ErrorList {
	switch r.Type {
	case "", flowcontrolv1.LimitResponseTypeReject:
		return nil
	case flowcontrolv1.LimitResponseTypeQueue:
		return queuing(path.Child("queuing"), r.Queuing)
	}
	return field.ErrorList{field.NotSupported(path.Child("type"), r.Type,
		[]flowcontrolv1.LimitResponseType{flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject})}
}

func queuing(path *field.Path, q *flowcontrolv1.QueuingConfiguration) field.ErrorList {
	if q == nil {
		return nil
	}
	var f validation.Findings
	f.AddIf(q.QueueLengthLimit <= 0, field.Invalid(path.Child("queueLengthLimit"), q.QueueLengthLimit, "must be positive"))
	f.AddIf(q.Queues <= 0, field.Invalid(path.Child("queues"), q.Queues, "must be positive"))
	f.AddIf(q.Queues > maxFlowQueues, field.Invalid(path.Child("queues"), q.Queues, fmt.Sprintf("must not be greater than %d", maxFlowQueues)))
	hand := path.Child("handSize")
	switch {
	case q.HandSize <= 0:
		f.Add(field.Invalid(hand, q.HandSize, "must be positive"))
	case q.HandSize > q.Queues:
		f.Add(field.Invalid(hand, q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues)))
	case shufflesharding.RequiredEntropyBits(int(q.Queues), int(q.HandSize)) > shufflesharding.MaxHashBits:
		f.Add(field.Invalid(hand, q.HandSize, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d",
			q.Queues, q.HandSize, shufflesharding.MaxHashBits)))
	}
	return f.Errs
}

// priorityLevelConfigurationColumns makes the rows of kubectl get. They show the shares and the queues.
var priorityLevelConfigurationColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Type", printers.Doc(flowcontrolv1.PriorityLevelConfigurationSpec{}, "type")),
		printers.Text("NominalConcurrencyShares",
			printers.Doc(flowcontrolv1.LimitedPriorityLevelConfiguration{}, "nominalConcurrencyShares")),
		printers.Text("Queues", printers.Doc(flowcontrolv1.QueuingConfiguration{}, "queues")),
		printers.Text("HandSize", printers.Doc(flowcontrolv1.QueuingConfiguration{}, "handSize")),
		printers.Text("QueueLengthLimit", printers.Doc(flowcontrolv1.QueuingConfiguration{}, "queueLengthLimit")),
		printers.AgeColumn,
	},
	func(p *flowcontrolv1.PriorityLevelConfiguration) []any {
		var shares, queues, hand, length any = printers.None, printers.None, printers.None, printers.None
		if limited := p.Spec.Limited; limited != nil {
			shares = int64(ptr.Deref(limited.NominalConcurrencyShares, 0))
			if q := limited.LimitResponse.Queuing; q != nil {
				queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
			}
		}
		return []any{p.Name, string(p.Spec.Type), shares, queues, hand, length, printers.Since(p.CreationTimestamp)}
	})
