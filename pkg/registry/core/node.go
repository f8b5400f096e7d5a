package core

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// nodeKind is the row of nodes in the server's table of kinds.
var nodeKind = registry.Kind{
	Resource:   "nodes",
	ShortNames: []string{"no"},
	Object:     &corev1.Node{}, List: &corev1.NodeList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultNode)},
	StoragePrefix: "minions",
	Status:        true,
	Subresources: []registry.Subresource{
		connect.ProxySubresource(func(o *corev1.NodeProxyOptions) string { return o.Path }, connect.LocateNodes),
	},
	StatusOnCreate: true,
	Printer:        &nodeColumns,
	Hooks: registry.HooksOf[*corev1.Node]{
		PrepareForCreate:       func(_ context.Context, n *corev1.Node) { dropConfig(n) },
		PrepareForUpdate:       func(_ context.Context, n, old *corev1.Node) { dropConfigSource(n, old) },
		PrepareForStatusUpdate: func(_ context.Context, n, old *corev1.Node) { dropConfigStatus(n, old) },
		Validate:               validateNode,
		ValidateUpdate:         validateNodeUpdate,
		ValidateStatusUpdate:   validateNodeStatusUpdate,
		Warnings:               nodeWarnings,
	},
	Fields: nodeFields,
	Gated: []registry.Gate{
		registry.GateOf[corev1.Node]("InPlacePodVerticalScalingSchedulerPreemption", "Spec.PodPreemptionPolicy"),
		registry.GateOf[corev1.Node]("SupplementalGroupsPolicy", "Status.Features").OnCreate(),
		registry.GateOf[corev1.Node]("NodeDeclaredFeatures", "Status.DeclaredFeatures").OnCreate(),
		registry.GateOf[corev1.Node]("KubeletInUserNamespace", "Status.NodeInfo.RunningInUserNamespace").OnUpdate(),
	},
}

// defaultNode sets the defaults of a Node. The default of allocatable is the whole capacity.
func defaultNode(n *corev1.Node) {
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	defaults.ResourceList(n.Status.Capacity)
	defaults.ResourceList(n.Status.Allocatable)

	// podCIDR is always the first of podCIDRs. If a client sets another podCIDR, podCIDRs becomes a list with only this
	// podCIDR.
	switch s := &n.Spec; {
	case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
		s.PodCIDRs = []string{s.PodCIDR}
	case len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	}
}

// validateNode checks a new node.
func validateNode(o *corev1.Node) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(nodeAnnotations(o), taints(validation.MetadataPath.Child("taints"), o.Spec.Taints), nodeResources(o))
	if swap := o.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil {
		// The path is kube-apiserver's, although the field is in the status.
		f.AddIf(*swap.Capacity <= 0, field.Invalid(validation.MetadataPath.Child("nodeSwapStatus", "capacity"), *swap.Capacity, "must be greater than zero"))
	}
	f.Merge(declaredFeatures(o), nodeCIDRs(o))
	return f.Errs
}

// nodeCIDRs checks podCIDRs, the networks of a node's pods.
func nodeCIDRs(o *corev1.Node) field.ErrorList {
	var f validation.Findings
	path := validation.SpecPath.Child("podCIDRs")
	cidrs := podCIDRs(o)
	for i, cidr := range cidrs {
		f.Merge(validation.LegacyCIDR(path.Index(i), cidr, nil))
	}
	if len(cidrs) < 2 {
		return f.Errs
	}
	dual, err := utilsnet.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		f.Add(field.InternalError(path, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
	}
	f.AddIf(!dual || len(cidrs) > 2, field.Invalid(path, cidrs, "may specify no more than one CIDR for each IP family"))
	return f.Errs
}

func validateNodeUpdate(o, old *corev1.Node) field.ErrorList {
	return append(validateNode(o), nodeChange(o, old)...)
}

// validateNodeStatusUpdate checks the status that a kubelet writes.
func validateNodeStatusUpdate(o, old *corev1.Node) field.ErrorList { return nodeChange(o, old) }

func nodeChange(o, old *corev1.Node) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(nodeAnnotations(o), nodeResources(o), declaredFeatures(o))
	for i, a := range o.Status.Addresses {
		f.AddIf(slices.Contains(o.Status.Addresses[:i], a), field.Duplicate(field.NewPath("status", "addresses").Index(i), validation.Unversioned(a)))
	}
	spec := field.NewPath("spec")
	if was := podCIDRs(old); len(was) > 0 {
		f.AddIf(!slices.Equal(podCIDRs(o), was), field.Forbidden(spec.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"))
	}
	if was, now := old.Spec.ProviderID, o.Spec.ProviderID; was != "" {
		path := spec.Child("providerID")
		f.AddIf(now != "" && now != was, field.Invalid(path, nil, "field cannot be modified once set"))
		f.AddIf(now == "", field.Invalid(path, nil, "field cannot be cleared once set"))
	}
	f.Merge(taints(validation.MetadataPath.Child("taints"), o.Spec.Taints))
	f.AddIf(o.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID, field.Forbidden(spec.Child("externalID"), "may not be updated"))
	return f.Errs
}

// nodeAnnotations checks the annotations that old schedulers read.
func nodeAnnotations(o *corev1.Node) field.ErrorList {
	path := validation.MetadataPath.Child("annotations")
	return append(annotatedTaints(path, o.Annotations), avoidedPods(path, o.Annotations)...)
}

// annotatedTaints checks the annotation with taints. Since Kubernetes 1.6, taints are in the spec.
func annotatedTaints(path *field.Path, annotations map[string]string) field.ErrorList {
	value := annotations[corev1.TaintsAnnotationKey]
	if value == "" {
		return nil
	}
	var list []corev1.Taint
	if err := json.Unmarshal([]byte(value), &list); err != nil {
		return field.ErrorList{field.Invalid(path, corev1.TaintsAnnotationKey, err.Error())}
	}
	return taints(path.Child(corev1.TaintsAnnotationKey), list)
}

// featureName is the form of the name of a declared feature, such as MyFeature/mySubFeature.
var featureName = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`)

// declaredFeatures checks the features that a kubelet declares (KEP-5328). The list is sorted, and has no feature twice.
func declaredFeatures(o *corev1.Node) field.ErrorList {
	var f validation.Findings
	path, list := field.NewPath("status", "declaredFeatures"), o.Status.DeclaredFeatures
	for i, name := range list {
		const longest = utilvalidation.DNS1123SubdomainMaxLength
		switch {
		case len(name) > longest:
			f.Add(field.Invalid(path.Index(i), name, fmt.Sprintf("invalid feature name %q: must be no more than %d characters", name, longest)))
		case !featureName.MatchString(name):
			f.Add(field.Invalid(path.Index(i), name, fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, with subsequent "+
				"segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", name)))
		}
		if i+1 == len(list) {
			break
		}
		next := list[i+1]
		f.AddIf(name == next, field.Duplicate(path.Index(i+1), next))
		f.AddIf(name > next, field.Invalid(path.Index(i+1), next, "list must be sorted alphabetically"))
	}
	return f.Errs
}

// avoidedPods checks the annotation preferAvoidPods of a node, which lists controllers whose pods should not run on the
// node. Current schedulers ignore the annotation.
func avoidedPods(path *field.Path, annotations map[string]string) field.ErrorList {
	avoid, err := schedulinghelper.GetAvoidPodsFromNodeAnnotations(annotations)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("AvoidPods"), corev1.PreferAvoidPodsAnnotationKey, err.Error())}
	}
	var f validation.Findings
	for i, entry := range avoid.PreferAvoidPods {
		path, owner := path.Child(corev1.PreferAvoidPodsAnnotationKey).Index(i).Child("PodSignature"), entry.PodSignature.PodController
		f.AddIf(owner == nil, field.Required(path, ""))
		f.AddIf(owner != nil && !ptr.Deref(owner.Controller, false),
			field.Invalid(path.Child("PodController", "Controller"), false, "must point to a controller"))
	}
	return f.Errs
}

// podCIDRs returns the networks of a node's pods. podCIDR is the first of them.
func podCIDRs(o *corev1.Node) []string {
	if len(o.Spec.PodCIDRs) == 0 && o.Spec.PodCIDR != "" {
		return []string{o.Spec.PodCIDR}
	}
	return o.Spec.PodCIDRs
}

func nodeResources(o *corev1.Node) field.ErrorList {
	var f validation.Findings
	for _, list := range []struct {
		name      string
		resources corev1.ResourceList
	}{{"capacity", o.Status.Capacity}, {"allocatable", o.Status.Allocatable}} {
		for name, amount := range validation.Sorted(list.resources) {
			f.Merge(validation.ResourceQuantity(field.NewPath("status", list.name, string(name)), name, amount))
		}
	}
	return f.Errs
}

// taints checks each taint of a node, and that no two taints have the same key and effect.
func taints(path *field.Path, list []corev1.Taint) field.ErrorList {
	var f validation.Findings
	type unique struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := sets.New[unique]()
	for i, t := range list {
		path := path.Index(i)
		f.Merge(metav1validation.ValidateLabelName(t.Key, path.Child("key")))
		f.Merge(validation.Follows(validation.Joined(utilvalidation.IsValidLabelValue, ";"), path.Child("value"), t.Value))
		f.Merge(validation.RequiredOneOf(path.Child("effect"), t.Effect, podvalidation.TaintEffects...))
		id := unique{t.Key, t.Effect}
		if seen.Has(id) {
			err := field.Duplicate(path, validation.Unversioned(t))
			err.Detail = "taints must be unique by key and effect pair"
			f.Add(err)
		}
		seen.Insert(id)
	}
	return f.Errs
}

// dropConfig drops the source and the status of the kubelet's configuration from a new node.
func dropConfig(n *corev1.Node) {
	dropConfigSource(n, &corev1.Node{})
	dropConfigStatus(n, &corev1.Node{})
}

// dropConfigSource drops the field for the source of the kubelet's configuration, unless the stored node has it.
// Kubelets no longer read the field (KEP-281).
func dropConfigSource(n, old *corev1.Node) {
	if old.Spec.ConfigSource == nil {
		n.Spec.ConfigSource = nil
	}
}

// dropConfigStatus drops the status of the kubelet's configuration, unless the stored node has it.
func dropConfigStatus(n, old *corev1.Node) {
	if old.Status.Config == nil {
		n.Status.Config = nil
	}
}

// nodeColumns makes the rows of kubectl get. They show whether the node is ready, its roles and, with -o wide, its
// system.
var nodeColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Status", "The status of the node"),
		printers.Text("Roles", "The roles of the node"),
		printers.AgeColumn,
		printers.Text("Version", printers.Doc(corev1.NodeSystemInfo{}, "kubeletVersion")),
		printers.Wide(printers.Text("Internal-IP", printers.Doc(corev1.NodeStatus{}, "addresses"))),
		printers.Wide(printers.Text("External-IP", printers.Doc(corev1.NodeStatus{}, "addresses"))),
		printers.Wide(printers.Text("OS-Image", printers.Doc(corev1.NodeSystemInfo{}, "osImage"))),
		printers.Wide(printers.Text("Kernel-Version", printers.Doc(corev1.NodeSystemInfo{}, "kernelVersion"))),
		printers.Wide(printers.Text("Container-Runtime", printers.Doc(corev1.NodeSystemInfo{}, "containerRuntimeVersion"))),
	},
	func(n *corev1.Node) []any {
		info := n.Status.NodeInfo
		return []any{
			n.Name, nodeStatus(n), cmp.Or(strings.Join(nodeRoles(n), ","), printers.None),
			printers.Since(n.CreationTimestamp), info.KubeletVersion,
			nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
			cmp.Or(info.OSImage, printers.Unknown), nodeKernel(info), cmp.Or(info.ContainerRuntimeVersion, printers.Unknown),
		}
	})

// nodeKernel returns the version of a node's kernel, followed by the node's architecture.
func nodeKernel(info corev1.NodeSystemInfo) string {
	version := cmp.Or(info.KernelVersion, printers.Unknown)
	if info.Architecture == "" {
		return version
	}
	return fmt.Sprintf("%s (%s)", version, info.Architecture)
}

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, condition := range n.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if condition.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// nodeRoles returns the roles of a node. A label node-role.kubernetes.io/ROLE, with any value, stands for a role.
// The label kubernetes.io/role has the role as its value.
func nodeRoles(n *corev1.Node) []string {
	var roles []string
	for key, value := range n.Labels {
		role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/")
		if key == "kubernetes.io/role" {
			role, ok = value, true
		}
		if ok {
			roles = append(roles, role)
		}
	}
	return printers.Distinct(roles)
}

// nodeAddress returns the first address of a node that has the type t, or printers.None.
func nodeAddress(n *corev1.Node, t corev1.NodeAddressType) string {
	for _, address := range n.Status.Addresses {
		if address.Type == t {
			return address.Address
		}
	}
	return printers.None
}

func nodeWarnings(_ context.Context, n, _ *corev1.Node) []string {
	var l warnings.List
	if n.Spec.ConfigSource != nil {
		l.At(warnings.SpecPath.Child("configSource"), "the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		l.At(warnings.SpecPath.Child("externalID"), "this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range n.Spec.PodCIDRs {
		l.CIDR(warnings.SpecPath.Child("podCIDRs").Index(i), cidr)
	}
	return l
}

var nodeFields = registry.FieldsOf[*corev1.Node]{
	Values: func(n *corev1.Node) fields.Set {
		return fields.Set{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}
	},
	Names: []string{"spec.unschedulable"},
}
