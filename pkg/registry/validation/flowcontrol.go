package validation

import (
	"fmt"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/util/shufflesharding"
)

// FlowSchema checks a new schema (KEP-1040).
func FlowSchema(o *flowcontrolv1.FlowSchema) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec")
	f.Merge(flowSchemaSpec(o))
	for _, fixed := range bootstrap.MandatoryFlowSchemas {
		f.AddIf(fixed.Name == o.Name && !apiequality.Semantic.DeepEqual(o.Spec, fixed.Spec),
			field.Invalid(path, Unversioned(o.Spec), fmt.Sprintf("spec of '%s' must equal the fixed value", o.Name)))
	}
	f.Merge(FlowSchemaStatusUpdate(o, nil))
	return f.Errs
}

// FlowSchemaUpdate checks a schema that replaces another.
func FlowSchemaUpdate(o, _ *flowcontrolv1.FlowSchema) field.ErrorList { return FlowSchema(o) }

// FlowSchemaStatusUpdate checks what the server reports of a schema.
func FlowSchemaStatusUpdate(o, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	types := make([]string, len(o.Status.Conditions))
	for i, c := range o.Status.Conditions {
		types[i] = string(c.Type)
	}
	return flowConditions(types)
}

func flowConditions(types []string) field.ErrorList {
	var f Findings
	for i, t := range types {
		path := field.NewPath("status", "conditions").Index(i).Child("type")
		f.AddIf(slices.Contains(types[:i], t), field.Duplicate(path, t))
		f.AddIf(t == "", field.Required(path, "must not be empty"))
	}
	return f.Errs
}

func flowSchemaSpec(o *flowcontrolv1.FlowSchema) field.ErrorList {
	var f Findings
	path := field.NewPath("spec")
	precedence, n := path.Child("matchingPrecedence"), o.Spec.MatchingPrecedence
	f.AddIf(n <= 0, field.Invalid(precedence, n, "must be a positive value"))
	f.AddIf(n > flowcontrolv1.FlowSchemaMaxMatchingPrecedence, field.Invalid(precedence, n,
		fmt.Sprintf("must not be greater than %v", flowcontrolv1.FlowSchemaMaxMatchingPrecedence)))
	f.AddIf(n == 1 && o.Name != flowcontrolv1.FlowSchemaNameExempt,
		field.Invalid(precedence, n, "only the schema named 'exempt' may have matchingPrecedence 1"))
	if m := o.Spec.DistinguisherMethod; m != nil {
		known := []flowcontrolv1.FlowDistinguisherMethodType{
			flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType}
		if !slices.Contains(known, m.Type) {
			f.Add(field.NotSupported(path.Child("distinguisherMethod", "type"), Unversioned(m), known))
		}
	}
	level := path.Child("priorityLevelConfiguration", "name")
	if name := o.Spec.PriorityLevelConfiguration.Name; name == "" {
		f.Add(field.Required(level, "must reference a priority level"))
	} else {
		f.Merge(Follows(Named(apivalidation.NameIsDNSSubdomain), level, name))
	}
	for i := range o.Spec.Rules {
		f.Merge(flowRule(path.Child("rules").Index(i), &o.Spec.Rules[i]))
	}
	return f.Errs
}

func flowRule(path *field.Path, r *flowcontrolv1.PolicyRulesWithSubjects) field.ErrorList {
	var f Findings
	f.AddIf(len(r.Subjects) == 0, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	for i := range r.Subjects {
		f.Merge(flowSubject(path.Child("subjects").Index(i), &r.Subjects[i]))
	}
	f.AddIf(len(r.ResourceRules) == 0 && len(r.NonResourceRules) == 0,
		field.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	for i, rule := range r.ResourceRules {
		path := path.Child("resourceRules").Index(i)
		f.Merge(flowVerbs(path.Child("verbs"), rule.Verbs),
			flowList(path.Child("apiGroups"), rule.APIGroups, "resource rules must supply at least one api group", "api groups"),
			flowList(path.Child("resources"), rule.Resources, "resource rules must supply at least one resource", "resources"))
		if !rule.ClusterScope || len(rule.Namespaces) > 0 {
			f.Merge(flowList(path.Child("namespaces"), rule.Namespaces,
				"resource rules that are not cluster scoped must supply at least one namespace", "namespaces"))
		}
		if slices.Contains(rule.Namespaces, flowcontrolv1.NamespaceEvery) {
			continue
		}
		for j, namespace := range rule.Namespaces {
			for _, msg := range apivalidation.ValidateNamespaceName(namespace, false) {
				f.Add(field.Invalid(path.Child("namespaces").Index(j), namespace,
					"each member of this list must be '*' or a DNS-1123 label; "+msg))
			}
		}
	}
	for i, rule := range r.NonResourceRules {
		path := path.Child("nonResourceRules").Index(i)
		urls := path.Child("nonResourceURLs")
		f.Merge(flowVerbs(path.Child("verbs"), rule.Verbs),
			flowList(urls, rule.NonResourceURLs, "nonResourceURLs must contain at least one value", "non-resource URLs"))
		if !slices.Contains(rule.NonResourceURLs, flowcontrolv1.NonResourceAll) {
			for j, url := range rule.NonResourceURLs {
				f.Merge(flowURL(urls.Index(j), url))
			}
		}
	}
	return f.Errs
}

func flowSubject(path *field.Path, s *flowcontrolv1.Subject) field.ErrorList {
	f := Findings{OneOf(path.Child("kind"), s.Kind, flowcontrolv1.SubjectKindGroup,
		flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser)}
	if len(f.Errs) > 0 {
		return f.Errs
	}
	members := []struct {
		kind flowcontrolv1.SubjectKind
		name string
		set  bool
	}{
		{flowcontrolv1.SubjectKindServiceAccount, "serviceAccount", s.ServiceAccount != nil},
		{flowcontrolv1.SubjectKindUser, "user", s.User != nil},
		{flowcontrolv1.SubjectKindGroup, "group", s.Group != nil},
	}
	for _, m := range members {
		path := path.Child(m.name)
		switch {
		case m.kind != s.Kind:
		case !m.set:
			f.Add(field.Required(path, fmt.Sprintf("%s is required when subject kind is '%s'", m.name, m.kind)))
		case s.Kind == flowcontrolv1.SubjectKindServiceAccount:
			if name := s.ServiceAccount.Name; name != flowcontrolv1.NameAll {
				f.Merge(Required(Named(apivalidation.ValidateServiceAccountName), path.Child("name"), name))
			}
			if namespace := s.ServiceAccount.Namespace; namespace == "" {
				f.Add(field.Required(path.Child("namespace"), "must specify namespace for service account"))
			} else {
				f.Merge(Follows(Named(apivalidation.ValidateNamespaceName), path.Child("namespace"), namespace))
			}
		case s.Kind == flowcontrolv1.SubjectKindUser:
			f.Merge(Present(path, "name", s.User.Name))
		default:
			f.Merge(Present(path, "name", s.Group.Name))
		}
	}
	for _, m := range members {
		f.AddIf(m.kind != s.Kind && m.set, field.Forbidden(path.Child(m.name),
			fmt.Sprintf("%s is forbidden when subject kind is not '%s'", m.name, m.kind)))
	}
	return f.Errs
}

var flowVerbNames = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}

func flowVerbs(path *field.Path, verbs []string) field.ErrorList {
	f := Findings{flowList(path, verbs, "verbs must contain at least one value", "verbs")}
	unknown := func(v string) bool { return !slices.Contains(flowVerbNames, v) }
	if len(verbs) > 0 && !slices.Contains(verbs, flowcontrolv1.VerbAll) && slices.ContainsFunc(verbs, unknown) {
		f.Add(field.NotSupported(path, verbs, flowVerbNames))
	}
	return f.Errs
}

func flowList(path *field.Path, values []string, empty, what string) field.ErrorList {
	var f Findings
	f.AddIf(len(values) == 0, field.Required(path, empty))
	f.AddIf(len(values) > 1 && slices.Contains(values, "*"), field.Invalid(path, values, "if '*' is present, must not specify other "+what))
	return f.Errs
}

func flowURL(path *field.Path, url string) field.ErrorList {
	var msg string
	switch stars := strings.Count(url, "*"); {
	case url == "/":
	case url == "":
		msg = "must not be empty"
	case !strings.HasPrefix(url, "/"):
		msg = "must start with slash"
	case strings.Contains(url, " "):
		msg = "must not contain white-space"
	case strings.Contains(url, "//"):
		msg = "must not contain double slash"
	case stars > 1 || stars == 1 && !strings.HasSuffix(url, "/*"):
		msg = "wildcard can only do suffix matching"
	}
	if msg == "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, url, msg)}
}

// PriorityLevelConfiguration checks a new level.
func PriorityLevelConfiguration(o *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
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
			field.Invalid(field.NewPath("spec"), Unversioned(o.Spec), fmt.Sprintf(msg, o.Name)))
	}
	f.Merge(PriorityLevelConfigurationStatusUpdate(o, nil))
	return f.Errs
}

// PriorityLevelConfigurationUpdate checks a level that replaces another.
func PriorityLevelConfigurationUpdate(o, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return PriorityLevelConfiguration(o)
}

// PriorityLevelConfigurationStatusUpdate checks what the server reports of a level.
func PriorityLevelConfigurationStatusUpdate(o, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	types := make([]string, len(o.Status.Conditions))
	for i, c := range o.Status.Conditions {
		types[i] = string(c.Type)
	}
	return flowConditions(types)
}

func priorityLevelSpec(o *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	var f Findings
	path := field.NewPath("spec")
	isExempt := o.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	f.AddIf((o.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != isExempt,
		field.Invalid(path.Child("type"), o.Spec.Type, "type must be 'Exempt' if and only if name is 'exempt'"))
	f.Merge(OneOf(path.Child("type"), o.Spec.Type, flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited))
	switch limited := path.Child("limited"); {
	case isExempt:
		f.AddIf(o.Spec.Limited != nil, field.Forbidden(limited, "must be nil if the type is not Limited"))
		if e := o.Spec.Exempt; e != nil {
			f.Merge(levelShares(path.Child("exempt"), e.NominalConcurrencyShares, e.LendablePercent))
		}
	case o.Spec.Type == flowcontrolv1.PriorityLevelEnablementLimited:
		f.AddIf(o.Spec.Exempt != nil, field.Forbidden(path.Child("exempt"), "must be nil if the type is Limited"))
		if l := o.Spec.Limited; l == nil {
			f.Add(field.Required(limited, "must not be empty when type is Limited"))
		} else {
			f.Merge(levelShares(limited, l.NominalConcurrencyShares, nil), limitResponse(limited.Child("limitResponse"), &l.LimitResponse),
				levelShares(limited, nil, l.LendablePercent))
			if p := l.BorrowingLimitPercent; p != nil {
				f.AddIf(*p < 0, field.Invalid(limited.Child("borrowingLimitPercent"), *p, "if specified, must be a non-negative integer"))
			}
		}
	}
	return f.Errs
}

func levelShares(path *field.Path, shares, lendable *int32) field.ErrorList {
	var f Findings
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
	f := Findings{OneOf(path.Child("type"), r.Type, flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject)}
	path = path.Child("queuing")
	q := r.Queuing
	switch {
	case r.Type == flowcontrolv1.LimitResponseTypeReject:
		f.AddIf(q != nil, field.Forbidden(path, "must be nil if limited.limitResponse.type is not Limited"))
	case r.Type != flowcontrolv1.LimitResponseTypeQueue:
	case q == nil:
		f.Add(field.Required(path, "must not be empty if limited.limitResponse.type is Limited"))
	default:
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
	}
	return f.Errs
}
