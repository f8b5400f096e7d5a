package service

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// ipFamilies are the IP families for which the server has ranges of cluster IPs. The preferred family comes first.
type ipFamilies []corev1.IPFamily

var (
	policyPath   = field.NewPath("spec", "ipFamilyPolicy")
	familiesPath = field.NewPath("spec", "ipFamilies")
	ipsPath      = field.NewPath("spec", "clusterIPs")
)

// settle completes spec.ipFamilyPolicy and spec.ipFamilies (KEP-563). A missing policy follows from the stored service
// and from the selector. Missing families follow from the policy, the cluster IPs and the families of the server. If an
// update to SingleStack keeps both families or both cluster IPs, settle removes the second ones. old is nil on create.
func (f ipFamilies) settle(s, old *corev1.Service) error {
	spec := &s.Spec
	if !hasClusterIP(s) || staysPreferDualStack(s, old) {
		return nil
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = ptr.To(inferredPolicy(s, old))
	}
	if errs := serviceAddresses(s, old, validation.SpecPath); len(errs) > 0 {
		return invalidService(s, errs...)
	}
	var errs field.ErrorList
	if old != nil {
		errs = append(errs, dropSecond(s, old)...)
	}
	errs = append(errs, checkSingleStack(s)...)
	errs = append(errs, f.fromIPs(s)...)
	if len(errs) > 0 {
		return invalidService(s, errs...)
	}

	// A headless service without a selector can have endpoints of any family, even of a family for which the server
	// has no range.
	anyFamily := isHeadlessSpec(s) && len(spec.Selector) == 0
	if !anyFamily {
		if errs := f.checkSupported(s); len(errs) > 0 {
			return invalidService(s, errs...)
		}
	}
	if len(spec.IPFamilies) == 0 {
		if len(f) == 0 {
			return apierrors.NewInternalError(fmt.Errorf("choosing the IP family of service %s/%s: this server has no range of cluster IPs: set --service-cluster-ip-range", s.Namespace, s.Name))
		}
		spec.IPFamilies = []corev1.IPFamily{f[0]}
	}
	if len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && (anyFamily || len(f) == 2) {
		spec.IPFamilies = []corev1.IPFamily{spec.IPFamilies[0], otherFamily(spec.IPFamilies[0])}
	}
	return nil
}

// inferredPolicy returns the ipFamilyPolicy of a service whose client has set no policy. An update keeps the stored
// policy, so that the service doesn't change between single and dual stack by accident.
func inferredPolicy(s, old *corev1.Service) corev1.IPFamilyPolicy {
	switch {
	case old != nil && old.Spec.IPFamilyPolicy != nil:
		return *old.Spec.IPFamilyPolicy
	case isHeadlessSpec(s) && len(s.Spec.Selector) == 0:
		return corev1.IPFamilyPolicyRequireDualStack
	default:
		return corev1.IPFamilyPolicySingleStack
	}
}

// dropSecond removes the second address and family if an update with the policy SingleStack still has them. With
// another policy, an update that removes them is an error.
func dropSecond(s, old *corev1.Service) field.ErrorList {
	spec, was := &s.Spec, &old.Spec
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		if len(spec.ClusterIPs) > 1 && slices.Equal(spec.ClusterIPs, was.ClusterIPs) {
			spec.ClusterIPs = spec.ClusterIPs[:1:1]
		}
		if len(spec.IPFamilies) > 1 && slices.Equal(spec.IPFamilies, was.IPFamilies) {
			spec.IPFamilies = spec.IPFamilies[:1:1]
		}
		return nil
	}
	var errs field.ErrorList
	if n := len(spec.ClusterIPs); n > 0 && n < len(was.ClusterIPs) {
		errs = append(errs, field.Invalid(policyPath, spec.IPFamilyPolicy, "must be 'SingleStack' to release the secondary cluster IP"))
	}
	if n := len(spec.IPFamilies); n > 0 && n < len(was.IPFamilies) {
		errs = append(errs, field.Invalid(policyPath, spec.IPFamilyPolicy, "must be 'SingleStack' to release the secondary IP family"))
	}
	return errs
}

func checkSingleStack(s *corev1.Service) field.ErrorList {
	if *s.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		return nil
	}
	var errs field.ErrorList
	for _, several := range []struct {
		is   bool
		what string
	}{
		{len(s.Spec.ClusterIPs) == 2, "cluster IPs"},
		{len(s.Spec.IPFamilies) == 2, "IP families"},
	} {
		if several.is {
			errs = append(errs, field.Invalid(policyPath, s.Spec.IPFamilyPolicy,
				fmt.Sprintf("must be 'RequireDualStack' or 'PreferDualStack' when multiple %s are specified", several.what)))
		}
	}
	return errs
}

// fromIPs adds the families of the cluster IPs to spec.ipFamilies, if the list is shorter than the list of cluster
// IPs. It doesn't change headless services.
func (f ipFamilies) fromIPs(s *corev1.Service) field.ErrorList {
	if isHeadlessSpec(s) {
		return nil
	}
	var errs field.ErrorList
	for i := len(s.Spec.IPFamilies); i < len(s.Spec.ClusterIPs); i++ {
		ip, err := canonicalIP(s.Spec.ClusterIPs[i])
		if err != nil {
			continue // validation reports this error
		}
		family := familyOf(ip)
		if !slices.Contains(f, family) {
			errs = append(errs, field.Invalid(ipsPath.Index(i), s.Spec.ClusterIPs, fmt.Sprintf("%s is not configured on this cluster", family)))
			continue
		}
		s.Spec.IPFamilies = append(s.Spec.IPFamilies, family)
	}
	return errs
}

// checkSupported refuses families for which the server has no range, and the policy RequireDualStack if the server has
// only one family.
func (f ipFamilies) checkSupported(s *corev1.Service) field.ErrorList {
	var errs field.ErrorList
	if *s.Spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack && len(f) < 2 {
		errs = append(errs, field.Invalid(policyPath, s.Spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, family := range s.Spec.IPFamilies {
		if !slices.Contains(f, family) {
			errs = append(errs, field.Invalid(familiesPath.Index(i), family, "not configured on this cluster"))
		}
	}
	return errs
}

// staysPreferDualStack reports whether an update of a PreferDualStack service leaves its families unchanged. Then
// the service keeps its one or two addresses, even if the server's families have changed since.
func staysPreferDualStack(s, old *corev1.Service) bool {
	return old != nil && s.Spec.Type == old.Spec.Type &&
		ptr.Deref(s.Spec.IPFamilyPolicy, "") == corev1.IPFamilyPolicyPreferDualStack &&
		ptr.Deref(old.Spec.IPFamilyPolicy, corev1.IPFamilyPolicyPreferDualStack) == corev1.IPFamilyPolicyPreferDualStack &&
		slices.Equal(s.Spec.ClusterIPs, old.Spec.ClusterIPs) && slices.Equal(s.Spec.IPFamilies, old.Spec.IPFamilies)
}

func otherFamily(family corev1.IPFamily) corev1.IPFamily {
	if family == corev1.IPv4Protocol {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// isHeadlessSpec reports whether a service requests to have no cluster IP.
func isHeadlessSpec(s *corev1.Service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }

// hasClusterIP reports whether services of this type have a cluster IP. The cluster IP "None" counts.
func hasClusterIP(s *corev1.Service) bool { return s.Spec.Type != corev1.ServiceTypeExternalName }

func invalidService(s *corev1.Service, errs ...*field.Error) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), s.Name, errs)
}

// completeAll gives a stored service, or each stored service in a list, the form of a new service.
func (f ipFamilies) completeAll(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		f.complete(o)
	case *corev1.ServiceList:
		for i := range o.Items {
			f.complete(&o.Items[i])
		}
	}
}

// complete gives a stored service the form of a new service, before the server sends it to a client, updates it or
// releases its addresses. Servers before Kubernetes 1.20 stored services without clusterIPs, ipFamilies and
// ipFamilyPolicy (KEP-563). Later servers stored an internalTrafficPolicy in services of the type ExternalName, for
// which it has no meaning.
func (f ipFamilies) complete(s *corev1.Service) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		s.Spec.InternalTrafficPolicy = nil
	}
	if !hasClusterIP(s) || len(s.Spec.IPFamilies) > 0 {
		return
	}
	settled := s.DeepCopy()
	alignNewClusterIPs(settled)
	// If settle can't infer the missing fields, the server sends the service as it is stored. So a client can read and
	// repair it.
	if err := f.settle(settled, nil); err == nil {
		s.Spec = settled.Spec
	}
}
