package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// replicaSetKind is the row of replicasets in the server's table of kinds.
var replicaSetKind = registry.Kind{
	Resource:   "replicasets",
	ShortNames: []string{"rs"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &appsv1.ReplicaSet{}, List: &appsv1.ReplicaSetList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultReplicaSet),
		registry.DefaultLike[appsv1beta2.ReplicaSet](defaultReplicaSet),
		registry.DefaultLike[extensionsv1beta1.ReplicaSet](defaultReplicaSetExtensionsV1beta1),
	},
	Shape:      podrules.ShapeOf("spec.template.spec", func(r *appsv1.ReplicaSet) *corev1.PodSpec { return &r.Spec.Template.Spec }),
	Status:     true,
	Generation: true,
	Subresources: []registry.Subresource{registry.ScaleSubresource(func(r *appsv1.ReplicaSet) registry.Scaled {
		return registry.Scaled{Replicas: &r.Spec.Replicas, Current: r.Status.Replicas, Selector: r.Spec.Selector}
	})},
	OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
	Printer:       &replicaSetColumns,
	Hooks: registry.HooksOf[*appsv1.ReplicaSet]{
		Validate:             validateReplicaSet,
		ValidateUpdate:       validateReplicaSetUpdate,
		ValidateStatusUpdate: validateReplicaSetStatusUpdate,
		Warnings:             warnings.OfReplicas(func(o *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &o.Spec.Template }),
	},
	Gated: []registry.Gate{registry.GateOf[appsv1.ReplicaSet]("DeploymentReplicaSetTerminatingReplicas", "Status.TerminatingReplicas")},
}

func defaultReplicaSet(r *appsv1.ReplicaSet) {
	defaults.Pointer(&r.Spec.Replicas, 1)
	defaults.PodTemplateSpec(&r.Spec.Template)
}

func defaultReplicaSetExtensionsV1beta1(r *appsv1.ReplicaSet) {
	selectorOf(r.Spec.Template.Labels, &r.Spec.Selector, &r.Labels)
	defaultReplicaSet(r)
}

func validateReplicaSet(o *appsv1.ReplicaSet) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(replicaSetSpec(validation.SpecPath, &o.Spec))
	return f.Errs
}

func validateReplicaSetUpdate(o, old *appsv1.ReplicaSet) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(replicaSetSpec(validation.SpecPath, &o.Spec),
		validation.Unchanged(validation.SpecPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.Errs
}

func validateReplicaSetStatusUpdate(o, old *appsv1.ReplicaSet) field.ErrorList {
	s := &o.Status
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.ReplicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.TerminatingReplicas, s.ObservedGeneration))
	return f.Errs
}

func replicaSetSpec(path *field.Path, s *appsv1.ReplicaSetSpec) field.ErrorList {
	var f validation.Findings
	f.Merge(
		validation.Nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		validation.Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		// The message says "deployment", as in kube-apiserver.
		requiredSelector(path.Child("selector"), s.Selector, "deployment"),
		replicaTemplate(path, s.Selector, &s.Template))
	return f.Errs
}

var replicaSetColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Desired", printers.Doc(appsv1.ReplicaSetSpec{}, "replicas")),
		printers.Number("Current", printers.Doc(appsv1.ReplicaSetStatus{}, "replicas")),
		printers.Number("Ready", printers.Doc(appsv1.ReplicaSetStatus{}, "readyReplicas")),
		printers.AgeColumn,
		printers.Wide(printers.ContainersColumn),
		printers.Wide(printers.ImagesColumn),
		printers.Wide(printers.Text("Selector", printers.Doc(appsv1.ReplicaSetSpec{}, "selector"))),
	},
	func(rs *appsv1.ReplicaSet) []any {
		containers := rs.Spec.Template.Spec.Containers
		return []any{
			rs.Name, int64(ptr.Deref(rs.Spec.Replicas, 0)), int64(rs.Status.Replicas), int64(rs.Status.ReadyReplicas),
			printers.Since(rs.CreationTimestamp),
			printers.ContainerNames(containers), printers.ContainerImages(containers), metav1.FormatLabelSelector(rs.Spec.Selector),
		}
	})
