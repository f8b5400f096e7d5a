package flowcontrol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// flowSchemaKind is the row of flowschemas in the server's table of kinds.
var flowSchemaKind = registry.Kind{
	Resource: "flowschemas",
	Object:   &flowcontrolv1.FlowSchema{}, List: &flowcontrolv1.FlowSchemaList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultFlowSchema),
		registry.DefaultLike[flowcontrolv1beta1.FlowSchema](defaultFlowSchema),
		registry.DefaultLike[flowcontrolv1beta2.FlowSchema](defaultFlowSchema),
		registry.DefaultLike[flowcontrolv1beta3.FlowSchema](defaultFlowSchema),
	},
	Status:              true,
	StatusKeepsMetadata: true,
	Generation:          true,
	Printer:             &flowSchemaColumns,
	Hooks: registry.HooksOf[*flowcontrolv1.FlowSchema]{
		PrepareForStatusUpdate: keepMetadata(func(o *flowcontrolv1.FlowSchema) *metav1.ObjectMeta { return &o.ObjectMeta }),
		Validate:               validateFlowSchema,
		ValidateUpdate:         validateFlowSchemaUpdate,
		ValidateStatusUpdate:   validateFlowSchemaStatusUpdate,
	},
}

// matchingPrecedence is the default matchingPrecedence of a FlowSchema.
const matchingPrecedence int32 = 1000

func defaultFlowSchema(s *flowcontrolv1.FlowSchema) {
	defaults.Zero(&s.Spec.MatchingPrecedence, matchingPrecedence)
}

// validateFlowSchema checks a new FlowSchema (KEP-1040).
func validateFlowSchema(o *flowcontrolv1.FlowSchema) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec")
	f.Merge(flowSchemaSpec(o))
	for _, fixed := range bootstrap.MandatoryFlowSchemas {
		f.AddIf(fixed.Name == o.Name && !apiequality.Semantic.DeepEqual(o.Spec, fixed.Spec),
			field.Invalid(path, validation.Unversioned(o.Spec), fmt.Sprintf("spec of '%s' must equal the fixed value", o.Name)))
	}
	f.Merge(validateFlowSchemaStatusUpdate(o, nil))
	return f.Errs
}

func validateFlowSchemaUpdate(o, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	return validateFlowSchema(o)
}

// validateFlowSchemaStatusUpdate checks the status, which the server itself writes.
func validateFlowSchemaStatusUpdate(o, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	return flowConditions(o.Status.Conditions, func(c flowcontrolv1.FlowSchemaCondition) string { return string(c.Type) })
}

func flowSchemaSpec(o *flowcontrolv1.FlowSchema) field.ErrorList {
	var f validation.Findings
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
			f.Add(field.NotSupported(path.Child("distinguisherMethod", "type"), validation.Unversioned(m), known))
		}
	}
	level := path.Child("priorityLevelConfiguration", "name")
	if name := o.Spec.PriorityLevelConfiguration.Name; name == "" {
		f.Add(field.Required(level, "must reference a priority level"))
	} else {
		f.Merge(validation.Follows(validation.ObjectName, level, name))
	}
	for i := range o.Spec.Rules {
		f.Merge(flowRule(path.Child("rules").Index(i), &o.Spec.Rules[i]))
	}
	return f.Errs
}

func flowRule(path *field.Path, r *flowcontrolv1.PolicyRulesWithSubjects) field.ErrorList {
	var f validation.Findings
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
	f := validation.Findings{Errs: validation.OneOf(path.Child("kind"), s.Kind, flowcontrolv1.SubjectKindGroup,
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
				f.Merge(validation.Required(validation.Named(apivalidation.ValidateServiceAccountName), path.Child("name"), name))
			}
			if namespace := s.ServiceAccount.Namespace; namespace == "" {
				f.Add(field.Required(path.Child("namespace"), "must specify namespace for service account"))
			} else {
				f.Merge(validation.Follows(validation.Named(apivalidation.ValidateNamespaceName), path.Child("namespace"), namespace))
			}
		case s.Kind == flowcontrolv1.SubjectKindUser:
			f.Merge(validation.Present(path, "name", s.User.Name))
		default:
			f.Merge(validation.Present(path, "name", s.Group.Name))
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
	f := validation.Findings{Errs: flowList(path, verbs, "verbs must contain at least one value", "verbs")}
	unknown := func(v string) bool { return !slices.Contains(flowVerbNames, v) }
	if len(verbs) > 0 && !slices.Contains(verbs, flowcontrolv1.VerbAll) && slices.ContainsFunc(verbs, unknown) {
		f.Add(field.NotSupported(path, verbs, flowVerbNames))
	}
	return f.Errs
}

func flowList(path *field.Path, values []string, empty, what string) field.ErrorList {
	var f validation.Findings
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

// flowSchemaColumns makes the rows of kubectl get, sorted by precedence.
var flowSchemaColumns = ordered(printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("PriorityLevel", printers.Doc(flowcontrolv1.PriorityLevelConfigurationReference{}, "name")),
		printers.Text("MatchingPrecedence", printers.Doc(flowcontrolv1.FlowSchemaSpec{}, "matchingPrecedence")),
		printers.Text("DistinguisherMethod", printers.Doc(flowcontrolv1.FlowSchemaSpec{}, "distinguisherMethod")),
		printers.AgeColumn,
		printers.Text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration"),
	},
	func(f *flowcontrolv1.FlowSchema) []any {
		distinguisher := printers.None
		if m := f.Spec.DistinguisherMethod; m != nil {
			distinguisher = string(m.Type)
		}
		return []any{
			f.Name, f.Spec.PriorityLevelConfiguration.Name, int64(f.Spec.MatchingPrecedence), distinguisher,
			printers.Since(f.CreationTimestamp), dangling(f),
		}
	}), func(a, b *flowcontrolv1.FlowSchema) int {
	return cmp.Or(
		cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence),
		cmp.Compare(a.Name, b.Name),
	)
})

func ordered[T any](p printers.Printer, compare func(a, b *T) int) printers.Printer {
	p.Compare = func(a, b runtime.Object) int { return compare(any(a).(*T), any(b).(*T)) }
	return p
}

// dangling returns the status of the condition Dangling, or "?" if the condition is missing.
func dangling(f *flowcontrolv1.FlowSchema) string {
	for _, condition := range f.Status.Conditions {
		if condition.Type == flowcontrolv1.FlowSchemaConditionDangling {
			return string(condition.Status)
		}
	}
	return "?"
}
