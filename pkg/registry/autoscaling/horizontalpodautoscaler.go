package autoscaling

import (
	"errors"
	"fmt"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// ScaleToZero is the feature gate with which minReplicas of a HorizontalPodAutoscaler may be 0.
const ScaleToZero featuregate.Feature = "HPAScaleToZero"

// horizontalPodAutoscalerKind is the row of horizontalpodautoscalers in the server's table of kinds.
var horizontalPodAutoscalerKind = registry.Kind{
	Resource:   "horizontalpodautoscalers",
	ShortNames: []string{"hpa"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &autoscalingv2.HorizontalPodAutoscaler{}, List: &autoscalingv2.HorizontalPodAutoscalerList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultHorizontalPodAutoscaler),
		registry.DefaultOf(defaultHorizontalPodAutoscalerV1),
	},
	Status:     true,
	Generation: true,
	Without: map[featuregate.Feature]func(*registry.Kind){
		"HPAGeneration": func(k *registry.Kind) { k.Generation = false },
	},
	Printer: &horizontalPodAutoscalerColumns,
	Hooks: registry.HooksOf[*autoscalingv2.HorizontalPodAutoscaler]{
		Validate:             validateHorizontalPodAutoscaler,
		ValidateUpdate:       validateHorizontalPodAutoscalerUpdate,
		ValidateStatusUpdate: validateHorizontalPodAutoscalerStatusUpdate,
		DeclarativeOptions:   horizontalPodAutoscalerOptions,
	},
	Gated: []registry.Gate{registry.GateOf[autoscalingv2.HorizontalPodAutoscaler]("HPAConfigurableTolerance",
		"Spec.Behavior.ScaleUp.Tolerance", "Spec.Behavior.ScaleDown.Tolerance")},
}

// horizontalPodAutoscalerOptions returns the options of the markers. minReplicas may be 0 while a feature gate is on, or
// if the stored object has this value.
func horizontalPodAutoscalerOptions(gates featuregate.FeatureGate, _, old *autoscalingv2.HorizontalPodAutoscaler) map[string]bool {
	return map[string]bool{string(ScaleToZero): gates.Enabled(ScaleToZero) || old != nil && ptr.Deref(old.Spec.MinReplicas, 1) == 0}
}

func defaultHorizontalPodAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	dropAutoscalerAnnotations(h.Annotations)
	defaults.Pointer(&h.Spec.MinReplicas, 1)
	if len(h.Spec.Metrics) == 0 {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(cpuUtilizationTarget)}
	}
	if b := h.Spec.Behavior; b != nil {
		b.ScaleUp = defaultScalingRules(b.ScaleUp, autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: new(int32),
			Policies: []autoscalingv2.HPAScalingPolicy{
				{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
				{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
			},
		})
		b.ScaleDown = defaultScalingRules(b.ScaleDown, autoscalingv2.HPAScalingRules{
			Policies: []autoscalingv2.HPAScalingPolicy{
				{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
			},
		})
	}
}

// defaultScalingRules sets the defaults of the rules for one direction, up or down.
func defaultScalingRules(rules *autoscalingv2.HPAScalingRules, unset autoscalingv2.HPAScalingRules) *autoscalingv2.HPAScalingRules {
	if rules == nil {
		rules = &autoscalingv2.HPAScalingRules{}
	}
	defaults.Pointer(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.StabilizationWindowSeconds == nil {
		rules.StabilizationWindowSeconds = unset.StabilizationWindowSeconds
	}
	if rules.Policies == nil {
		rules.Policies = unset.Policies
	}
	return rules
}

// defaultHorizontalPodAutoscalerV1 sets the defaults of an autoscaling/v1 HorizontalPodAutoscaler. It doesn't set
// the defaults of metrics, because the metrics may be in an annotation: the conversion to v2 sets these defaults.
func defaultHorizontalPodAutoscalerV1(h *autoscalingv1.HorizontalPodAutoscaler) {
	defaults.Pointer(&h.Spec.MinReplicas, 1)
}

func validateHorizontalPodAutoscaler(o *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(autoscalerSpec(&o.Spec, nil))
	return f.Errs
}

func validateHorizontalPodAutoscalerUpdate(o, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(autoscalerSpec(&o.Spec, &old.Spec))
	return f.Errs
}

// validateHorizontalPodAutoscalerStatusUpdate checks the status that a controller writes.
func validateHorizontalPodAutoscalerStatusUpdate(o, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	for i, c := range o.Status.Conditions {
		f.Merge(validation.Nonnegative(field.NewPath("status", "conditions").Index(i).Child("observedGeneration"), ptr.Deref(c.ObservedGeneration, 0)))
	}
	f.Merge(validation.Nonnegative(field.NewPath("status", "currentReplicas"), o.Status.CurrentReplicas),
		validation.Nonnegative(field.NewPath("status", "desiredReplicas"), o.Status.DesiredReplicas))
	return f.Errs
}

// autoscalerSpec checks a spec. old is the stored spec, or nil on create.
func autoscalerSpec(spec, old *autoscalingv2.HorizontalPodAutoscalerSpec) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	f.AddIf(spec.MinReplicas != nil && spec.MaxReplicas < *spec.MinReplicas,
		field.Invalid(path.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	f.Merge(reference(path.Child("scaleTargetRef"), &spec.ScaleTargetRef, scaleTargetVersion(spec, old)))
	for i := range spec.Metrics {
		f.Merge(metricSpec(path.Child("metrics").Index(i), &spec.Metrics[i], describedObjectVersion(old)))
	}
	f.AddIf(spec.MinReplicas != nil && *spec.MinReplicas == 0 && !slices.ContainsFunc(spec.Metrics, measuredWithoutPods),
		field.Forbidden(path.Child("metrics"), "must specify at least one Object or External metric to support scaling to zero replicas"))
	if b := spec.Behavior; b != nil {
		f.Merge(scalingRules(path.Child("behavior", "scaleUp"), b.ScaleUp), scalingRules(path.Child("behavior", "scaleDown"), b.ScaleDown))
	}
	return f.Errs
}

// measuredWithoutPods reports whether a metric has a value when there are no pods. A metric without a value can't scale
// a workload up from zero pods (KEP-2021).
func measuredWithoutPods(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
}

// checkVersion returns an error if the apiVersion in a reference is invalid.
type checkVersion func(apiVersion string) error

func anyVersion(string) error { return nil }

func wellFormedVersion(apiVersion string) error {
	_, err := schema.ParseGroupVersion(apiVersion)
	return err
}

func versionWithGroup(apiVersion string) error {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err == nil && gv.Group == "" {
		err = errors.New("apiVersion must specify API group")
	}
	return err
}

// scaleTargetVersion returns the check of the apiVersion in scaleTargetRef. If an update changes neither kind nor
// apiVersion, an invalid apiVersion stays valid. A ReplicationController is in the core group; every other target
// must have a group.
func scaleTargetVersion(spec, old *autoscalingv2.HorizontalPodAutoscalerSpec) checkVersion {
	switch target := spec.ScaleTargetRef; {
	case old != nil && old.ScaleTargetRef.APIVersion == target.APIVersion && old.ScaleTargetRef.Kind == target.Kind:
		return anyVersion
	case target.Kind == "ReplicationController":
		return wellFormedVersion
	}
	return versionWithGroup
}

// describedObjectVersion returns the check of the apiVersion in a metric's describedObject. If a describedObject of
// the stored spec has an invalid apiVersion, the check accepts every apiVersion.
func describedObjectVersion(old *autoscalingv2.HorizontalPodAutoscalerSpec) checkVersion {
	if old != nil && slices.ContainsFunc(old.Metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil && wellFormedVersion(m.Object.DescribedObject.APIVersion) != nil
	}) {
		return anyVersion
	}
	return wellFormedVersion
}

func reference(path *field.Path, ref *autoscalingv2.CrossVersionObjectReference, version checkVersion) field.ErrorList {
	f := validation.Findings{Errs: validation.Required(content.IsPathSegmentName, path.Child("kind"), ref.Kind)}
	f.Merge(validation.Required(content.IsPathSegmentName, path.Child("name"), ref.Name))
	if err := version(ref.APIVersion); err != nil {
		f.Add(field.Invalid(path.Child("apiVersion"), ref.APIVersion, err.Error()))
	}
	return f.Errs
}

// metricSource describes one of the five fields in which a metric can have its source. "name" is the name of this
// field. "is" is the type of the metrics that must have this field. "set" is true if the metric has this field.
type metricSource struct {
	is   autoscalingv2.MetricSourceType
	name string
	set  bool
	// check checks the source. It is called for the first source of a metric only.
	check func(*field.Path) field.ErrorList
}

func metricSources(m *autoscalingv2.MetricSpec, version checkVersion) []metricSource {
	return []metricSource{
		{autoscalingv2.ObjectMetricSourceType, "object", m.Object != nil, func(path *field.Path) field.ErrorList {
			f := validation.Findings{Errs: reference(path.Child("describedObject"), &m.Object.DescribedObject, version)}
			f.Merge(metricIdentifier(path.Child("metric"), m.Object.Metric.Name), metricTarget(path.Child("target"), &m.Object.Target))
			f.AddIf(m.Object.Target.Value == nil && m.Object.Target.AverageValue == nil,
				field.Required(path.Child("target", "averageValue"), "must set either a target value or averageValue"))
			return f.Errs
		}},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil, func(path *field.Path) field.ErrorList {
			f := validation.Findings{Errs: metricIdentifier(path.Child("metric"), m.External.Metric.Name)}
			target := &m.External.Target
			f.Merge(metricTarget(path.Child("target"), target))
			f.AddIf(target.Value == nil && target.AverageValue == nil, field.Required(path.Child("target", "averageValue"),
				"must set either a target value for metric or a per-pod target"))
			f.AddIf(target.Value != nil && target.AverageValue != nil, field.Forbidden(path.Child("target", "value"),
				"may not set both a target value for metric and a per-pod target"))
			return f.Errs
		}},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(path *field.Path) field.ErrorList {
			f := validation.Findings{Errs: metricIdentifier(path.Child("metric"), m.Pods.Metric.Name)}
			f.Merge(metricTarget(path.Child("target"), &m.Pods.Target))
			f.AddIf(m.Pods.Target.AverageValue == nil,
				field.Required(path.Child("target", "averageValue"), "must specify a positive target averageValue"))
			return f.Errs
		}},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(path *field.Path) field.ErrorList {
			var f validation.Findings
			f.AddIf(m.Resource.Name == "", field.Required(path.Child("name"), "must specify a resource name"))
			f.Merge(resourceTarget(path.Child("target"), &m.Resource.Target))
			return f.Errs
		}},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil, func(path *field.Path) field.ErrorList {
			return containerResource(path, m.ContainerResource)
		}},
	}
}

func containerResource(path *field.Path, m *autoscalingv2.ContainerResourceMetricSource) field.ErrorList {
	var f validation.Findings
	if m.Name == "" {
		f.Add(field.Required(path.Child("name"), "must specify a resource name"))
	} else {
		f.Merge(validation.ContainerResourceName(path.Child("name"), m.Name))
	}
	if m.Container == "" {
		f.Add(field.Required(path.Child("container"), "must specify a container"))
	} else {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("container"), m.Container))
	}
	f.Merge(resourceTarget(path.Child("target"), &m.Target))
	return f.Errs
}

// metricSpec checks that a metric has exactly one source, the one that its type names.
func metricSpec(path *field.Path, m *autoscalingv2.MetricSpec, version checkVersion) field.ErrorList {
	var f validation.Findings
	f.AddIf(m.Type == "", field.Required(path.Child("type"), "must specify a metric source type"))
	f.Merge(validation.OneOf(path.Child("type"), m.Type, autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType))
	var missing, others validation.Findings
	n := 0
	for _, source := range metricSources(m, version) {
		if source.set {
			n++
			if n == 1 {
				f.Merge(source.check(path.Child(source.name)))
			}
		}
		missing.AddIf(source.is == m.Type && !source.set,
			field.Required(path.Child(source.name), "must populate information for the given metric source"))
		others.AddIf(source.is != m.Type && source.set,
			field.Forbidden(path.Child(source.name), "must populate the given metric source only"))
	}
	f.Merge(missing.Errs)
	if n != 1 {
		f.Merge(others.Errs)
	}
	return f.Errs
}

func metricIdentifier(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path.Child("name"), "must specify a metric name")}
	}
	return validation.Follows(content.IsPathSegmentName, path.Child("name"), name)
}

func metricTarget(path *field.Path, t *autoscalingv2.MetricTarget) field.ErrorList {
	var f validation.Findings
	f.AddIf(t.Type == "", field.Required(path.Child("type"), "must specify a metric target type"))
	switch t.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		f.Add(field.Invalid(path.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue"))
	}
	f.AddIf(t.Value != nil && t.Value.Sign() != 1, field.Invalid(path.Child("value"), t.Value, "must be positive"))
	f.AddIf(t.AverageValue != nil && t.AverageValue.Sign() != 1, field.Invalid(path.Child("averageValue"), t.AverageValue, "must be positive"))
	f.AddIf(t.AverageUtilization != nil && *t.AverageUtilization < 1,
		field.Invalid(path.Child("averageUtilization"), t.AverageUtilization, "must be greater than 0"))
	return f.Errs
}

func resourceTarget(path *field.Path, t *autoscalingv2.MetricTarget) field.ErrorList {
	f := validation.Findings{Errs: metricTarget(path, t)}
	f.AddIf(t.AverageUtilization == nil && t.AverageValue == nil,
		field.Required(path.Child("averageUtilization"), "must set either a target raw value or a target utilization"))
	f.AddIf(t.AverageUtilization != nil && t.AverageValue != nil,
		field.Forbidden(path.Child("averageValue"), "may not set both a target raw value and a target utilization"))
	return f.Errs
}

// The largest values of periodSeconds and stabilizationWindowSeconds in a scaling rule.
const (
	maxScalingPeriod       = 1800
	maxStabilizationWindow = 3600
)

func scalingRules(path *field.Path, r *autoscalingv2.HPAScalingRules) field.ErrorList {
	if r == nil {
		return nil
	}
	var f validation.Findings
	if w := r.StabilizationWindowSeconds; w != nil {
		f.Merge(between(path.Child("stabilizationWindowSeconds"), *w, 0, maxStabilizationWindow, "must be greater than or equal to zero"))
	}
	f.Merge(validation.OptionalOneOf(path.Child("selectPolicy"), r.SelectPolicy,
		autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect))
	policies := path.Child("policies")
	f.AddIf(len(r.Policies) == 0, field.Required(policies, "must specify at least one Policy"))
	for i, p := range r.Policies {
		path := policies.Index(i)
		f.Merge(validation.OneOf(path.Child("type"), p.Type, autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy))
		f.AddIf(p.Value <= 0, field.Invalid(path.Child("value"), p.Value, "must be greater than zero"))
		f.Merge(between(path.Child("periodSeconds"), p.PeriodSeconds, 1, maxScalingPeriod, "must be greater than zero"))
	}
	if r.Tolerance != nil {
		f.AddIf(r.Tolerance.Sign() < 0, field.Invalid(path.Child("tolerance"), r.Tolerance.String(), apivalidation.IsNegativeErrorMsg))
	}
	return f.Errs
}

func between(path *field.Path, value, least, most int32, tooLow string) field.ErrorList {
	var f validation.Findings
	f.AddIf(value < least, field.Invalid(path, value, tooLow))
	f.AddIf(value > most, field.Invalid(path, value, fmt.Sprintf("must be less than or equal to %v", most)))
	return f.Errs
}

// horizontalPodAutoscalerColumns makes the rows of kubectl get. They show the target and the metrics.
var horizontalPodAutoscalerColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Reference", printers.Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "scaleTargetRef")),
		printers.Text("Targets", printers.Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "metrics")),
		printers.Text("MinPods", printers.Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "minReplicas")),
		printers.Text("MaxPods", printers.Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "maxReplicas")),
		printers.Text("Replicas", printers.Doc(autoscalingv2.HorizontalPodAutoscalerStatus{}, "currentReplicas")),
		printers.AgeColumn,
	},
	func(h *autoscalingv2.HorizontalPodAutoscaler) []any {
		least := printers.Unset
		if h.Spec.MinReplicas != nil {
			least = fmt.Sprint(*h.Spec.MinReplicas)
		}
		return []any{
			h.Name, h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name, metrics(h), least,
			int64(h.Spec.MaxReplicas), int64(h.Status.CurrentReplicas), printers.Since(h.CreationTimestamp),
		}
	})

// metrics shows the current value and the target of the first two metrics. The status has the metrics in the same order
// as the spec.
func metrics(h *autoscalingv2.HorizontalPodAutoscaler) string {
	if len(h.Spec.Metrics) == 0 {
		return printers.None
	}
	shown := make([]string, len(h.Spec.Metrics))
	for i := range h.Spec.Metrics {
		var status autoscalingv2.MetricStatus
		if i < len(h.Status.CurrentMetrics) {
			status = h.Status.CurrentMetrics[i]
		}
		shown[i] = metric(&h.Spec.Metrics[i], &status)
	}
	return printers.First(2, shown, ", ")
}

// metric shows the current value and the target of one metric.
func metric(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	switch {
	case spec.External != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.External != nil {
			current = &status.External.Current
		}
		return valueMetric(&spec.External.Target, current)
	case spec.Object != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Object != nil {
			current = &status.Object.Current
		}
		return valueMetric(&spec.Object.Target, current)
	case spec.Pods != nil:
		current := printers.Unknown
		if status.Pods != nil {
			current = status.Pods.Current.AverageValue.String()
		}
		return current + "/" + spec.Pods.Target.AverageValue.String()
	case spec.Resource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Resource != nil {
			current = &status.Resource.Current
		}
		return string(spec.Resource.Name) + ": " + utilizationMetric(&spec.Resource.Target, current)
	case spec.ContainerResource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.ContainerResource != nil {
			current = &status.ContainerResource.Current
		}
		return string(spec.ContainerResource.Name) + ": " + utilizationMetric(&spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

// valueMetric shows a metric whose target is an average value or a total value.
func valueMetric(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	value, suffix, wanted := printers.Unknown, "", target.Value
	if target.AverageValue != nil {
		suffix, wanted = " (avg)", target.AverageValue
	}
	switch {
	case current == nil:
	case target.AverageValue == nil:
		value = current.Value.String()
	case current.AverageValue != nil:
		value = current.AverageValue.String()
	}
	return value + "/" + wanted.String() + suffix
}

// utilizationMetric shows a metric whose target is an average value, or a percentage of the request.
func utilizationMetric(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	percent := func(p *int32, otherwise string) string {
		if p == nil {
			return otherwise
		}
		return fmt.Sprintf("%d%%", *p)
	}
	if target.AverageValue == nil {
		var utilization *int32
		if current != nil {
			utilization = current.AverageUtilization
		}
		return percent(utilization, printers.Unknown) + "/" + percent(target.AverageUtilization, "<auto>")
	}
	value := printers.Unknown
	if current != nil {
		value = current.AverageValue.String()
	}
	return value + "/" + target.AverageValue.String()
}
