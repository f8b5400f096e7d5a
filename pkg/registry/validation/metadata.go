package validation

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Scope says whether objects of a kind are in namespaces.
type Scope bool

// The scopes of kinds.
const (
	ClusterScoped Scope = false
	Namespaced    Scope = true
)

// MetadataPath is the path of an object's metadata.
var MetadataPath = field.NewPath("metadata")

// Created checks the metadata of a new object.
func Created(meta *metav1.ObjectMeta, s Scope, name apivalidation.ValidateNameFunc) Findings {
	f := Findings{Errs: apivalidation.ValidateObjectMeta(meta, bool(s), name, MetadataPath)}
	f.Merge(knownFinalizers(meta))
	return f
}

// CreatedNamed checks the metadata of a new object of a kind whose Go type declares that the name is a DNS subdomain. The
// error of the declaration takes the place of the error about the name. The generateName isn't checked, but the name that
// comes of it.
func CreatedNamed(meta *metav1.ObjectMeta, s Scope) Findings {
	name := func(path *field.Path, name string) field.ErrorList {
		return validate.LongName(context.Background(), operation.Operation{}, path, &name, nil).MarkCoveredByDeclarative()
	}
	f := Findings{Errs: apivalidation.ValidateObjectMetaWithOpts(meta, bool(s), name, MetadataPath)}
	f.Merge(knownFinalizers(meta))
	return f
}

// Updated checks the metadata of an object in an update.
func Updated(meta, old *metav1.ObjectMeta) Findings {
	f := Findings{Errs: apivalidation.ValidateObjectMetaUpdate(meta, old, MetadataPath)}
	f.Merge(knownFinalizers(meta))
	return f
}

func knownFinalizers(meta *metav1.ObjectMeta) field.ErrorList {
	var f Findings
	for i, name := range meta.Finalizers {
		f.Merge(KnownFinalizer(MetadataPath.Child("finalizers").Index(i), name))
	}
	return f.Errs
}

// KnownFinalizer checks the name of a finalizer. The name must have a domain, or be one of the three names without
// a domain that Kubernetes defines.
func KnownFinalizer(path *field.Path, name string) field.ErrorList {
	switch name {
	case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		return nil
	}
	if strings.Contains(name, "/") {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
}

// PathSegmentName is the rule for names that only have to be valid in a URL path. It holds for the prefix of a generated
// name, too.
func PathSegmentName(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// ObjectName is the rule for names of objects. Most kinds have it.
var ObjectName = Named(apivalidation.NameIsDNSSubdomain)
