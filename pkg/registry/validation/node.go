package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

// Node checks a new node.
func Node(o *corev1.Node) field.ErrorList { return node(o, &corev1.Node{}) }

func node(o, old *corev1.Node) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(avoidedPods(MetadataPath.Child("annotations"), o.Annotations), taints(MetadataPath.Child("taints"), o.Spec.Taints), nodeResources(o), nodeCIDRs(o))
	// The feature gate InPlacePodVerticalScalingSchedulerPreemption is off.
	f.Merge(GatedOff(SpecPath.Child("podPreemptionPolicy"), o.Spec.PodPreemptionPolicy, old.Spec.PodPreemptionPolicy))
	return f.Errs
}

// nodeCIDRs checks the networks of a node's pods.
func nodeCIDRs(o *corev1.Node) field.ErrorList {
	var f Findings
	path := SpecPath.Child("podCIDRs")
	cidrs := podCIDRs(o)
	for i, cidr := range cidrs {
		f.Merge(LegacyCIDR(path.Index(i), cidr, nil))
	}
	if len(cidrs) < 2 {
		return f.Errs
	}
	dual, err := utilsnet.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		f.Add(field.InternalError(path, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
	}
	f.AddIf(!dual || len(cidrs) > 2, field.Invalid(path, cidrs, "may specify no more than one CIDR for each IP family"))
	for i, cidr := range cidrs {
		f.AddIf(slices.Contains(cidrs[:i], cidr), field.Duplicate(path.Index(i), cidr))
	}
	return f.Errs
}

// NodeUpdate checks a node that replaces another.
func NodeUpdate(o, old *corev1.Node) field.ErrorList {
	return append(node(o, old), nodeChange(o, old)...)
}

// NodeStatusUpdate checks what a kubelet reports.
func NodeStatusUpdate(o, old *corev1.Node) field.ErrorList { return nodeChange(o, old) }

func nodeChange(o, old *corev1.Node) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(avoidedPods(MetadataPath.Child("annotations"), o.Annotations), nodeResources(o))
	for i, a := range o.Status.Addresses {
		f.AddIf(slices.Contains(o.Status.Addresses[:i], a), field.Duplicate(field.NewPath("status", "addresses").Index(i), Unversioned(a)))
	}
	spec := field.NewPath("spec")
	if was := podCIDRs(old); len(was) > 0 {
		f.AddIf(!slices.Equal(podCIDRs(o), was),
			field.Forbidden(spec.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"))
	}
	f.AddIf(old.Spec.ProviderID != "" && o.Spec.ProviderID != old.Spec.ProviderID,
		field.Forbidden(spec.Child("providerID"), "node updates may not change providerID except from \"\" to valid"))
	f.Merge(taints(MetadataPath.Child("taints"), o.Spec.Taints))
	f.AddIf(o.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID, field.Forbidden(spec.Child("externalID"), "may not be updated"))
	return f.Errs
}

// avoidedPods checks the annotation that names controllers whose pods should keep away. No
// scheduler has read it since 1.24.
func avoidedPods(path *field.Path, annotations map[string]string) field.ErrorList {
	avoid, err := schedulinghelper.GetAvoidPodsFromNodeAnnotations(annotations)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("AvoidPods"), corev1.PreferAvoidPodsAnnotationKey, err.Error())}
	}
	var f Findings
	for i, entry := range avoid.PreferAvoidPods {
		path, owner := path.Child(corev1.PreferAvoidPodsAnnotationKey).Index(i).Child("PodSignature"), entry.PodSignature.PodController
		f.AddIf(owner == nil, field.Required(path, ""))
		f.AddIf(owner != nil && !ptr.Deref(owner.Controller, false),
			field.Invalid(path.Child("PodController", "Controller"), false, "must point to a controller"))
	}
	return f.Errs
}

// podCIDRs are a node's networks: podCIDR is the first of podCIDRs.
func podCIDRs(o *corev1.Node) []string {
	if len(o.Spec.PodCIDRs) == 0 && o.Spec.PodCIDR != "" {
		return []string{o.Spec.PodCIDR}
	}
	return o.Spec.PodCIDRs
}

func nodeResources(o *corev1.Node) field.ErrorList {
	var f Findings
	for _, list := range []struct {
		name      string
		resources corev1.ResourceList
	}{{"capacity", o.Status.Capacity}, {"allocatable", o.Status.Allocatable}} {
		for name, amount := range Sorted(list.resources) {
			f.Merge(ResourceQuantity(field.NewPath("status", list.name, string(name)), name, amount))
		}
	}
	return f.Errs
}

// taints checks that there is one taint for a key and an effect.
func taints(path *field.Path, list []corev1.Taint) field.ErrorList {
	var f Findings
	type unique struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := sets.New[unique]()
	for i, t := range list {
		path := path.Index(i)
		f.Merge(metav1validation.ValidateLabelName(t.Key, path.Child("key")))
		f.Merge(Follows(Joined(utilvalidation.IsValidLabelValue, ";"), path.Child("value"), t.Value))
		f.Merge(RequiredOneOf(path.Child("effect"), t.Effect,
			corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute))
		id := unique{t.Key, t.Effect}
		if seen.Has(id) {
			err := field.Duplicate(path, Unversioned(t))
			err.Detail = "taints must be unique by key and effect pair"
			f.Add(err)
		}
		seen.Insert(id)
	}
	return f.Errs
}
