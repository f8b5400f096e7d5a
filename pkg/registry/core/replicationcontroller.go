package core

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// replicationControllerKind is the row of replicationcontrollers in the server's table of kinds.
var replicationControllerKind = registry.Kind{
	Resource:   "replicationcontrollers",
	ShortNames: []string{"rc"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &corev1.ReplicationController{}, List: &corev1.ReplicationControllerList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultReplicationController)},
	Shape: podrules.ShapeOf("spec.template.spec", func(c *corev1.ReplicationController) *corev1.PodSpec {
		if c.Spec.Template == nil {
			return nil
		}
		return &c.Spec.Template.Spec
	}),
	StoragePrefix: "controllers",
	Status:        true,
	Generation:    true,
	Subresources: []registry.Subresource{registry.ScaleSubresource(func(c *corev1.ReplicationController) registry.Scaled {
		return registry.Scaled{Replicas: &c.Spec.Replicas, Current: c.Status.Replicas, Selector: selectorOf(c.Spec.Selector)}
	})},
	OrphanThrough: []schema.GroupVersion{corev1.SchemeGroupVersion},
	Printer:       &replicationControllerColumns,
	Hooks: registry.HooksOf[*corev1.ReplicationController]{
		Validate:             validateReplicationController,
		ValidateUpdate:       validateReplicationControllerUpdate,
		ValidateStatusUpdate: validateReplicationControllerStatusUpdate,
		Warnings:             replicationControllerWarnings,
	},
	Fields: replicationControllerFields,
}

// replicationControllerWarnings returns the warnings about a write. In kube-apiserver, those about an update are for the
// stored template.
func replicationControllerWarnings(ctx context.Context, rc, old *corev1.ReplicationController) []string {
	template := func(o *corev1.ReplicationController) *corev1.PodTemplateSpec {
		if old != nil {
			return old.Spec.Template
		}
		return o.Spec.Template
	}
	return warnings.OfReplicas(template)(ctx, rc, old)
}

// defaultReplicationController sets the defaults of a ReplicationController. The default of the selector and of the
// labels is the labels of the template.
func defaultReplicationController(rc *corev1.ReplicationController) {
	defaults.Pointer(&rc.Spec.Replicas, 1)
	if t := rc.Spec.Template; t != nil {
		if t.Labels != nil && len(rc.Spec.Selector) == 0 {
			rc.Spec.Selector = t.Labels
		}
		defaults.LabelsOf(t.Labels, &rc.Labels)
		defaults.PodTemplateSpec(t)
	}
}

// validateReplicationController checks a new replication controller.
func validateReplicationController(o *corev1.ReplicationController) field.ErrorList {
	f := validation.CreatedNamed(&o.ObjectMeta, validation.Namespaced)
	f.Merge(replicationControllerSpec(validation.SpecPath, &o.Spec))
	return f.Errs
}

func validateReplicationControllerUpdate(o, old *corev1.ReplicationController) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(replicationControllerSpec(validation.SpecPath, &o.Spec), keepsNonConvertible(o, old))
	return f.Errs
}

// keepsNonConvertible checks that an update doesn't change a field that the stored version of the object can't hold. An
// annotation of the stored object has such a field's name and value.
func keepsNonConvertible(o, old *corev1.ReplicationController) field.ErrorList {
	var f validation.Findings
	for key, value := range validation.Sorted(old.Annotations) {
		if !strings.HasPrefix(key, corev1.NonConvertibleAnnotationPrefix) {
			continue
		}
		_, name, ok := strings.Cut(key, "/")
		switch {
		case !ok:
		case strings.Contains(name, "selector"):
			f.AddIf(!apiequality.Semantic.DeepEqual(o.Spec.Selector, old.Spec.Selector),
				field.Invalid(validation.SpecPath.Child("selector"), o.Spec.Selector, "cannot update non-convertible selector"))
		default:
			f.Add(&field.Error{Type: field.ErrorTypeNotFound, Field: name, BadValue: value, Detail: "unknown non-convertible field"})
		}
	}
	return f.Errs
}

func validateReplicationControllerStatusUpdate(o, old *corev1.ReplicationController) field.ErrorList {
	s := &o.Status
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.ReplicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, nil, s.ObservedGeneration))
	return f.Errs
}

func replicationControllerSpec(path *field.Path, s *corev1.ReplicationControllerSpec) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(s.Selector) == 0, field.Required(path.Child("selector"), ""))
	template := path.Child("template")
	if s.Template == nil {
		f.Add(field.Required(template, ""))
		return f.Errs
	}
	f.Merge(
		validation.SelectsTemplate(template, labels.SelectorFromSet(s.Selector), s.Template.Labels),
		podvalidation.LongRunningTemplate(template, s.Template, "ReplicationController"))
	return f.Errs
}

// selectorOf converts a set of labels to a label selector.
func selectorOf(set labels.Set) *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: set} }

var replicationControllerColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Desired", printers.Doc(corev1.ReplicationControllerSpec{}, "replicas")),
		printers.Number("Current", printers.Doc(corev1.ReplicationControllerStatus{}, "replicas")),
		printers.Number("Ready", printers.Doc(corev1.ReplicationControllerStatus{}, "readyReplicas")),
		printers.AgeColumn,
		printers.Wide(printers.ContainersColumn),
		printers.Wide(printers.ImagesColumn),
		printers.Wide(printers.Text("Selector", printers.Doc(corev1.ReplicationControllerSpec{}, "selector"))),
	},
	func(rc *corev1.ReplicationController) []any {
		var containers []corev1.Container
		if rc.Spec.Template != nil {
			containers = rc.Spec.Template.Spec.Containers
		}
		return []any{
			rc.Name, int64(ptr.Deref(rc.Spec.Replicas, 0)), int64(rc.Status.Replicas), int64(rc.Status.ReadyReplicas),
			printers.Since(rc.CreationTimestamp),
			printers.ContainerNames(containers), printers.ContainerImages(containers), labels.FormatLabels(rc.Spec.Selector),
		}
	})

var replicationControllerFields = registry.FieldsOf[*corev1.ReplicationController]{
	Values: func(c *corev1.ReplicationController) fields.Set {
		return fields.Set{"status.replicas": strconv.Itoa(int(c.Status.Replicas))}
	},
	Names: []string{"status.replicas"},
}
