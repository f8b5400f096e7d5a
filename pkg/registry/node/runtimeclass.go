package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// runtimeClassKind is the row of runtimeclasses in the server's table of kinds.
var runtimeClassKind = registry.Kind{
	Resource: "runtimeclasses",
	Object:   &nodev1.RuntimeClass{}, List: &nodev1.RuntimeClassList{},
	CreateOnUpdate:    true,
	ConditionalUpdate: true,
	Printer:           &runtimeClassColumns,
	Hooks: registry.HooksOf[*nodev1.RuntimeClass]{
		Validate:       validateRuntimeClass,
		ValidateUpdate: validateRuntimeClassUpdate,
		Warnings:       runtimeClassWarnings,
	},
}

// validateRuntimeClass checks a new RuntimeClass (KEP-585). Unlike those of most kinds, its finalizers needn't have a
// domain.
func validateRuntimeClass(o *nodev1.RuntimeClass) field.ErrorList {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMeta(&o.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, validation.MetadataPath)}
	f.Merge(validation.Optional(validation.Named(apivalidation.NameIsDNSLabel), field.NewPath("handler"), o.Handler).
		WithOrigin("format=k8s-short-name").MarkCoveredByDeclarative())
	if o.Overhead != nil {
		f.Merge(validation.ResourceRequirements(field.NewPath("overhead"), &corev1.ResourceRequirements{Limits: o.Overhead.PodFixed},
			validation.ContainerResourceName, nil))
	}
	if s := o.Scheduling; s != nil {
		path := field.NewPath("scheduling")
		f.Merge(metav1validation.ValidateLabels(s.NodeSelector, path.Child("nodeSelector")),
			runtimeTolerations(path.Child("tolerations"), s.Tolerations))
	}
	return f.Errs
}

func validateRuntimeClassUpdate(o, old *nodev1.RuntimeClass) field.ErrorList {
	f := validation.Findings{Errs: validateRuntimeClass(o)}
	f.Merge(apivalidation.ValidateObjectMetaUpdate(&o.ObjectMeta, &old.ObjectMeta, validation.MetadataPath))
	return f.Errs
}

// runtimeTolerations checks tolerations. Two tolerations mustn't differ only in their seconds.
func runtimeTolerations(path *field.Path, ts []corev1.Toleration) field.ErrorList {
	f := validation.Findings{Errs: podvalidation.Tolerations(path, ts)}
	seen := map[corev1.Toleration]bool{}
	for i, t := range ts {
		timeless := t
		timeless.TolerationSeconds = nil
		f.AddIf(seen[timeless], field.Duplicate(path.Index(i), validation.Unversioned(t)))
		seen[timeless] = true
	}
	return f.Errs
}

// runtimeClassColumns makes the rows of kubectl get. They show the handler. As in kube-apiserver, the column has no
// description.
var runtimeClassColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("Handler", ""), printers.AgeColumn},
	func(c *nodev1.RuntimeClass) []any {
		return []any{c.Name, c.Handler, printers.Since(c.CreationTimestamp)}
	})

// runtimeClassWarnings warns of deprecated node labels in scheduling.nodeSelector.
func runtimeClassWarnings(_ context.Context, c, _ *nodev1.RuntimeClass) []string {
	if c.Scheduling == nil {
		return nil
	}
	var l warnings.List
	l.NodeSelector(c.Scheduling.NodeSelector, func(string) *field.Path { return field.NewPath("scheduling", "nodeSelector") })
	return l
}
