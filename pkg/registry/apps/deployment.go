package apps

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// deploymentKind is the row of deployments in the server's table of kinds.
var deploymentKind = registry.Kind{
	Resource:   "deployments",
	ShortNames: []string{"deploy"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &appsv1.Deployment{}, List: &appsv1.DeploymentList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultDeployment),
		registry.DefaultOf(defaultDeploymentV1beta1),
		registry.DefaultLike[appsv1beta2.Deployment](defaultDeployment),
		registry.DefaultOf(defaultDeploymentExtensionsV1beta1),
	},
	Canonical:  registry.CanonicalOf(canonicalDeployment),
	Shape:      podrules.ShapeOf("spec.template.spec", func(d *appsv1.Deployment) *corev1.PodSpec { return &d.Spec.Template.Spec }),
	Status:     true,
	Generation: true,
	Subresources: []registry.Subresource{
		{Name: "rollback", Storage: newRollback,
			Through: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion}},
		registry.ScaleSubresource(func(d *appsv1.Deployment) registry.Scaled {
			return registry.Scaled{Replicas: &d.Spec.Replicas, Current: d.Status.Replicas, Selector: d.Spec.Selector}
		}),
	},
	StatusResets: []string{"metadata.labels"},
	OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion,
		appsv1beta2.SchemeGroupVersion},
	Printer: &deploymentColumns,
	Hooks: registry.HooksOf[*appsv1.Deployment]{
		PrepareForStatusUpdate: func(_ context.Context, d, old *appsv1.Deployment) { d.Labels = old.Labels },
		SpecChanged:            deploymentChanged,
		Validate:               validateDeployment,
		ValidateUpdate:         validateDeploymentUpdate,
		ValidateStatusUpdate:   validateDeploymentStatusUpdate,
		Warnings:               warnings.OfReplicas(func(o *appsv1.Deployment) *corev1.PodTemplateSpec { return &o.Spec.Template }),
	},
	Gated: []registry.Gate{registry.GateOf[appsv1.Deployment]("DeploymentReplicaSetTerminatingReplicas", "Status.TerminatingReplicas")},
}

// quarter returns the default of maxSurge and maxUnavailable: 25% of the replicas. A rollout may have maxSurge pods
// more than the replicas, and maxUnavailable pods fewer.
func quarter() intstr.IntOrString { return intstr.FromString("25%") }

func defaultDeployment(d *appsv1.Deployment) {
	defaults.Pointer(&d.Spec.Replicas, 1)
	defaults.Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	defaults.Pointer(&d.Spec.ProgressDeadlineSeconds, progressDeadlineSeconds)
	strategy := &d.Spec.Strategy
	defaults.Zero(&strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		defaults.Pointer(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		defaults.Pointer(&strategy.RollingUpdate.MaxUnavailable, quarter())
		defaults.Pointer(&strategy.RollingUpdate.MaxSurge, quarter())
	}
	defaults.PodTemplateSpec(&d.Spec.Template)
}

func defaultDeploymentV1beta1(d *appsv1beta1.Deployment) {
	selectorOf(d.Spec.Template.Labels, &d.Spec.Selector, &d.Labels)
	defaults.Pointer(&d.Spec.Replicas, 1)
	defaults.Pointer(&d.Spec.RevisionHistoryLimit, 2)
	defaults.Pointer(&d.Spec.ProgressDeadlineSeconds, progressDeadlineSeconds)
	strategy := &d.Spec.Strategy
	defaults.Zero(&strategy.Type, appsv1beta1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1beta1.RollingUpdateDeploymentStrategyType {
		defaults.Pointer(&strategy.RollingUpdate, appsv1beta1.RollingUpdateDeployment{})
		defaults.Pointer(&strategy.RollingUpdate.MaxUnavailable, quarter())
		defaults.Pointer(&strategy.RollingUpdate.MaxSurge, quarter())
	}
	defaults.PodTemplateSpec(&d.Spec.Template)
}

// defaultDeploymentExtensionsV1beta1 sets the defaults of an extensions/v1beta1 Deployment. In this version, a
// Deployment keeps every revision and has no progress deadline by default, and maxSurge and maxUnavailable are 1.
func defaultDeploymentExtensionsV1beta1(d *extensionsv1beta1.Deployment) {
	selectorOf(d.Spec.Template.Labels, &d.Spec.Selector, &d.Labels)
	defaults.Pointer(&d.Spec.Replicas, 1)
	defaults.Pointer(&d.Spec.RevisionHistoryLimit, math.MaxInt32)
	defaults.Pointer(&d.Spec.ProgressDeadlineSeconds, math.MaxInt32)
	strategy := &d.Spec.Strategy
	defaults.Zero(&strategy.Type, extensionsv1beta1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == extensionsv1beta1.RollingUpdateDeploymentStrategyType {
		defaults.Pointer(&strategy.RollingUpdate, extensionsv1beta1.RollingUpdateDeployment{})
	}
	if strategy.RollingUpdate != nil {
		defaults.Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		defaults.Pointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(1))
	}
	defaults.PodTemplateSpec(&d.Spec.Template)
}

func validateDeployment(o *appsv1.Deployment) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(deploymentSpec(validation.SpecPath, o))
	return f.Errs
}

// canonicalDeployment reads the revision of a rollback, which kube-apiserver has as a number.
func canonicalDeployment(d *appsv1.Deployment) error {
	value, ok := d.Annotations[appsv1.DeprecatedRollbackTo]
	if !ok {
		return nil
	}
	var revision *int64
	if value != "" {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("failed to parse annotation[%s]=%s as int64: %w", appsv1.DeprecatedRollbackTo, value, err)
		}
		revision = &n
	}
	d.Annotations = maps.Clone(d.Annotations)
	annotate(&d.Annotations, appsv1.DeprecatedRollbackTo, revision)
	return nil
}

func validateDeploymentUpdate(o, old *appsv1.Deployment) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(deploymentSpec(validation.SpecPath, o), validation.Unchanged(validation.SpecPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.Errs
}

func validateDeploymentStatusUpdate(o, old *appsv1.Deployment) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	s, path := &o.Status, validation.StatusPath
	f.Merge(
		validation.Counts(path, validation.CountOf("observedGeneration", s.ObservedGeneration),
			validation.CountOf("replicas", int64(s.Replicas)), validation.CountOf("updatedReplicas", int64(s.UpdatedReplicas)),
			validation.CountOf("readyReplicas", int64(s.ReadyReplicas)), validation.CountOf("availableReplicas", int64(s.AvailableReplicas)),
			validation.CountOf("unavailableReplicas", int64(s.UnavailableReplicas)),
			validation.CountOf("terminatingReplicas", int64(ptr.Deref(s.TerminatingReplicas, 0))),
			validation.CountOf("collisionCount", int64(ptr.Deref(s.CollisionCount, 0)))),
		validation.AtMost(path, s.Replicas, validation.MoreThanReplicas, validation.CountOf("updatedReplicas", int64(s.UpdatedReplicas)),
			validation.CountOf("readyReplicas", int64(s.ReadyReplicas)), validation.CountOf("availableReplicas", int64(s.AvailableReplicas))),
		validation.AtMost(path, s.ReadyReplicas, "cannot be greater than readyReplicas", validation.CountOf("availableReplicas", int64(s.AvailableReplicas))),
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.Errs
}

func deploymentSpec(path *field.Path, o *appsv1.Deployment) field.ErrorList {
	var f validation.Findings
	s := &o.Spec
	f.Merge(
		validation.Nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		requiredSelector(path.Child("selector"), s.Selector, "deployment"),
		replicaTemplate(path, s.Selector, &s.Template),
		deploymentStrategy(path.Child("strategy"), &s.Strategy),
		validation.Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		validation.Nonnegative(path.Child("revisionHistoryLimit"), ptr.Deref(s.RevisionHistoryLimit, 0)))
	if revision, err := takeNumber(maps.Clone(o.Annotations), appsv1.DeprecatedRollbackTo); err == nil {
		f.Merge(validation.Nonnegative(path.Child("rollback", "version"), ptr.Deref(revision, 0)))
	}
	if deadline := s.ProgressDeadlineSeconds; deadline != nil {
		path := path.Child("progressDeadlineSeconds")
		f.Merge(validation.Nonnegative(path, *deadline))
		f.AddIf(*deadline <= s.MinReadySeconds, field.Invalid(path, deadline, "must be greater than minReadySeconds"))
	}
	return f.Errs
}

func deploymentStrategy(path *field.Path, s *appsv1.DeploymentStrategy) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(rolling, "this should be defaulted and never be nil")}
		}
		return rollingDeployment(rolling, s.RollingUpdate)
	}
	return field.ErrorList{field.NotSupported(path, validation.Unversioned(s),
		[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

func rollingDeployment(path *field.Path, r *appsv1.RollingUpdateDeployment) field.ErrorList {
	var f validation.Findings
	unavailable, surge := ptr.Deref(r.MaxUnavailable, zero), ptr.Deref(r.MaxSurge, zero)
	at := path.Child("maxUnavailable")
	f.Merge(validation.IntOrPercent(at, unavailable), validation.IntOrPercent(path.Child("maxSurge"), surge))
	f.AddIf(isZero(unavailable) && isZero(surge), field.Invalid(at, unavailable, "may not be 0 when `maxSurge` is 0"))
	f.Merge(validation.AtMostAll(at, unavailable))
	return f.Errs
}

// deploymentChanged reports whether the generation of a Deployment increases. A change of annotations counts too,
// because the deployment controller copies annotations to ReplicaSets.
func deploymentChanged(d, old *appsv1.Deployment) bool {
	return !apiequality.Semantic.DeepEqual(d.Spec, old.Spec) || !apiequality.Semantic.DeepEqual(d.Annotations, old.Annotations)
}

var deploymentColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Ready", "Number of the pod with ready state"),
		printers.Text("Up-to-date", printers.Doc(appsv1.DeploymentStatus{}, "updatedReplicas")),
		printers.Text("Available", printers.Doc(appsv1.DeploymentStatus{}, "availableReplicas")),
		printers.AgeColumn,
		printers.Wide(printers.ContainersColumn),
		printers.Wide(printers.ImagesColumn),
		printers.Wide(printers.Text("Selector", printers.Doc(appsv1.DeploymentSpec{}, "selector"))),
	},
	func(d *appsv1.Deployment) []any {
		containers := d.Spec.Template.Spec.Containers
		// An empty selector is shown as an empty text. In the tables of other workloads, it is shown as "<none>".
		selector := "<invalid>"
		if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
			selector = s.String()
		}
		return []any{
			d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, ptr.Deref(d.Spec.Replicas, 0)),
			int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas), printers.Since(d.CreationTimestamp),
			printers.ContainerNames(containers), printers.ContainerImages(containers), selector,
		}
	})
