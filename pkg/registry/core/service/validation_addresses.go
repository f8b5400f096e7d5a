package service

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// serviceAddresses checks clusterIPs and ipFamilies, and that they match (KEP-563). old is nil on create. The
// allocation relies on the checks.
func serviceAddresses(o, old *corev1.Service, spec *field.Path) field.ErrorList {
	var f validation.Findings
	ips, families := spec.Child("clusterIPs"), spec.Child("ipFamilies")
	values := o.Spec.ClusterIPs
	switch {
	case o.Spec.ClusterIP == "":
		f.AddIf(len(values) > 0, field.Invalid(ips, values, "must be empty when `clusterIP` is not specified"))
	case len(values) == 0:
		f.Add(field.Required(ips, ""))
	default:
		f.AddIf(o.Spec.ClusterIP != values[0], field.Invalid(ips, values, "first value must match `clusterIP`"))
	}
	for i, family := range o.Spec.IPFamilies {
		f.Merge(validation.OneOf(families.Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol))
		f.AddIf(slices.Contains(o.Spec.IPFamilies[:i], family), field.Duplicate(families.Index(i), family))
	}
	f.Merge(validation.OptionalOneOf(spec.Child("ipFamilyPolicy"), o.Spec.IPFamilyPolicy, corev1.IPFamilyPolicyPreferDualStack,
		corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack))

	var stored []string
	if old != nil {
		stored = old.Spec.ClusterIPs
	}
	usable := true
	for i, ip := range values {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(values) > 1 {
				f.Add(field.Invalid(ips, values, "'None' must be the first and only value"))
				usable = false
			}
			continue
		}
		errs := validation.LegacyIP(ips.Index(i), ip, stored)
		usable = usable && len(errs) == 0
		f.Merge(errs)
	}
	f.AddIf(len(values) > 2, field.Invalid(ips, values, "may only hold up to 2 values"))
	if !usable {
		return f.Errs
	}
	if len(values) > 1 {
		dual, err := utilsnet.IsDualStackIPStrings(values)
		if err != nil {
			f.Add(field.InternalError(ips, fmt.Errorf("failed to check for dual stack with error:%w", err)))
		}
		f.AddIf(!dual, field.Invalid(ips, values, "may specify no more than one IP for each IP family"))
	}
	if isHeadless(o) {
		return f.Errs
	}
	for i, ip := range values[:min(len(values), len(o.Spec.IPFamilies))] {
		isV6 := utilsnet.IsIPv6String(ip)
		if family := o.Spec.IPFamilies[i]; (family == corev1.IPv4Protocol && isV6) || (family == corev1.IPv6Protocol && !isV6) {
			f.Add(field.Invalid(ips.Index(i), ip, fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%v]`", family, i)))
		}
	}
	return f.Errs
}

func externalIPs(o, old *corev1.Service, path *field.Path) field.ErrorList {
	var f validation.Findings
	var stored []string
	if old != nil {
		stored = old.Spec.ExternalIPs
	}
	for i, ip := range o.Spec.ExternalIPs {
		if errs := validation.LegacyIP(path.Index(i), ip, stored); len(errs) > 0 {
			f.Merge(errs)
			continue
		}
		f.Merge(ordinaryIP(path.Index(i), ip))
	}
	return f.Errs
}

// ordinaryIP refuses loopback, link-local and unspecified addresses.
func ordinaryIP(path *field.Path, value string) field.ErrorList {
	var f validation.Findings
	f.AddIf(utilsnet.ParseIPSloppy(value).IsLoopback(), field.Invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
	f.Merge(validation.EndpointIP(path, value))
	return f.Errs
}

const onceSet = "may not change once set"

// serviceAddressChange checks an update of clusterIPs. A service can gain or lose its second address. The first
// address can change only if the service becomes an ExternalName, or was one.
func serviceAddressChange(o, old *corev1.Service) field.ErrorList {
	if anyExternalName(o, old) || (isHeadless(o) && isHeadless(old)) {
		return nil
	}
	var f validation.Findings
	path := field.NewPath("spec", "clusterIPs")
	now, was := o.Spec.ClusterIPs, old.Spec.ClusterIPs
	changed := func(i int) { f.AddIf(now[i] != was[i], field.Invalid(path.Index(i), now, onceSet)) }
	switch {
	case len(now) == len(was):
		for i := range was {
			changed(i)
		}
	case len(now) < len(was):
		if len(now) == 0 {
			f.Add(field.Invalid(path.Index(0), now, "primary clusterIP can not be unset"))
			break
		}
		changed(0)
		f.Merge(releasesSecond(o, len(now), "clusterIP"))
	case len(was) > 0:
		changed(0)
	}
	return f.Errs
}

// serviceFamilyChange checks an update of ipFamilies. A service can gain or lose its second family, but can't change
// the first. Headless services and services of the type ExternalName are exempt.
func serviceFamilyChange(o, old *corev1.Service) field.ErrorList {
	if anyExternalName(o, old) || isHeadless(o) || isHeadless(old) {
		return nil
	}
	var f validation.Findings
	path := field.NewPath("spec", "ipFamilies").Index(0)
	now, was := o.Spec.IPFamilies, old.Spec.IPFamilies
	if len(now) == len(was) {
		for i := range was {
			f.AddIf(now[i] != was[i], field.Invalid(path, now, onceSet))
		}
		return f.Errs
	}
	released := len(now) < len(was)
	f.AddIf(released && len(o.Spec.ClusterIPs) == 0, field.Invalid(path, now, "primary ipFamily can not be unset"))
	// As in kube-apiserver, this error shows the addresses in place of the families.
	f.AddIf(len(now) > 0 && len(was) > 0 && now[0] != was[0], field.Invalid(path, o.Spec.ClusterIPs, onceSet))
	if released {
		f.Merge(releasesSecond(o, len(now), "ipFamily"))
	}
	return f.Errs
}

// releasesSecond checks an update that removes the second address or family: the update must set the policy to
// SingleStack. left is the number of addresses or families after the update. The argument "what" is the name of
// the removed item in the error.
func releasesSecond(o *corev1.Service, left int, what string) field.ErrorList {
	if left != 1 || ptr.Deref(o.Spec.IPFamilyPolicy, "") == corev1.IPFamilyPolicySingleStack {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), o.Spec.IPFamilyPolicy,
		"must be set to 'SingleStack' when releasing the secondary "+what)}
}

func anyExternalName(services ...*corev1.Service) bool {
	return slices.ContainsFunc(services, func(o *corev1.Service) bool {
		return o.Spec.Type == corev1.ServiceTypeExternalName
	})
}
