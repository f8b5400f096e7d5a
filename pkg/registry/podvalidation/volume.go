package podvalidation

import (
	"fmt"
	"reflect"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// volumes checks the volumes of a pod, and returns the valid volumes by name. The argument "meta" is the metadata of the
// pod, or nil for a template.
func volumes(path *field.Path, vs []corev1.Volume, meta *metav1.ObjectMeta) (map[string]*corev1.VolumeSource, field.ErrorList) {
	var f validation.Findings
	pod := ptr.Deref(meta, metav1.ObjectMeta{}).Name
	created := sets.New[string]()
	for i := range vs {
		if vs[i].Ephemeral != nil && pod != "" {
			created.Insert(ephemeralClaim(pod, vs[i].Name))
		}
	}
	found := map[string]*corev1.VolumeSource{}
	for i := range vs {
		v, path := &vs[i], path.Index(i)
		errs := append(volumeSource(path, v, meta), validation.Required(utilvalidation.IsDNS1123Label, path.Child("name"), v.Name)...)
		if found[v.Name] != nil {
			errs = append(errs, field.Duplicate(path.Child("name"), v.Name))
		}
		if len(errs) == 0 {
			found[v.Name] = &v.VolumeSource
		}
		f.Merge(errs)
		if claim := v.PersistentVolumeClaim; claim != nil && created.Has(claim.ClaimName) {
			f.Add(field.Invalid(path.Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume"))
		}
	}
	return found, f.Errs
}

// ephemeralClaim returns the name of the claim that is made for an ephemeral volume (KEP-1698).
func ephemeralClaim(pod, volume string) string { return pod + "-" + volume }

// volumeSource checks that a volume has exactly one source, and checks that source.
func volumeSource(path *field.Path, v *corev1.Volume, meta *metav1.ObjectMeta) field.ErrorList {
	var f validation.Findings
	found, pod := false, ptr.Deref(meta, metav1.ObjectMeta{}).Name
	source := reflect.ValueOf(v.VolumeSource)
	for _, kind := range volumeKinds {
		value := source.FieldByName(kind.field)
		if value.IsNil() {
			continue
		}
		if found {
			f.Add(field.Forbidden(path.Child(kind.name), "may not specify more than 1 volume type"))
		} else {
			found = true
			f.Merge(kind.check(path.Child(kind.valuePath()), value.Interface()))
			if v.Ephemeral != nil && kind.field == "Ephemeral" && pod != "" && v.Name != "" {
				f.Merge(ephemeralClaimName(path.Child("name"), pod, v.Name))
			}
		}
		if v.ISCSI != nil && kind.field == "ISCSI" {
			f.AddIf(v.ISCSI.InitiatorName != nil && len(v.Name+":"+v.ISCSI.TargetPortal) > maxISCSIInitiator,
				field.Invalid(path.Child("name"), v.Name, iscsiInitiatorTooLong))
		}
	}
	f.AddIf(!found, field.Required(path, "must specify a volume type"))
	return f.Errs
}

func ephemeralClaimName(path *field.Path, pod, volume string) field.ErrorList {
	var f validation.Findings
	claim := ephemeralClaim(pod, volume)
	for _, msg := range validation.ObjectName(claim) {
		f.Add(field.Invalid(path, volume, fmt.Sprintf("PVC name %q: %v", claim, msg)))
	}
	return f.Errs
}

func ephemeralVolume(path *field.Path, s *corev1.EphemeralVolumeSource) field.ErrorList {
	template := path.Child("volumeClaimTemplate")
	if s.VolumeClaimTemplate == nil {
		return field.ErrorList{field.Required(template, "")}
	}
	return append(ClaimTemplateMeta(template.Child("metadata"), &s.VolumeClaimTemplate.ObjectMeta),
		PersistentVolumeClaimSpec(template.Child("spec"), &s.VolumeClaimTemplate.Spec, nil)...)
}

// ClaimTemplateMeta checks that the metadata of a claim template has only labels and annotations.
func ClaimTemplateMeta(path *field.Path, meta *metav1.ObjectMeta) field.ErrorList {
	var f validation.Findings
	f.Merge(
		apivalidation.ValidateAnnotations(meta.Annotations, path.Child("annotations")),
		metav1validation.ValidateLabels(meta.Labels, path.Child("labels")),
		onlyFields(path, *meta, sets.New("Annotations", "Labels"), "cannot be set"))
	return f.Errs
}

// onlyFields refuses the fields of a struct that are set, except the fields whose Go names are in the argument
// "allowed".
func onlyFields(path *field.Path, value any, allowed sets.Set[string], msg string) field.ErrorList {
	var f validation.Findings
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !allowed.Has(name) && !v.Field(i).IsZero() {
			first, n := utf8.DecodeRuneInString(name)
			f.Add(field.Forbidden(path.Child(string(unicode.ToLower(first))+name[n:]), msg))
		}
	}
	return f.Errs
}
