package validation

import (
	"fmt"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
)

// LoadBalancerHost checks that the host name of a load balancer is a DNS name and not an IP address. It may be empty.
func LoadBalancerHost(path *field.Path, host string) field.ErrorList {
	if host == "" {
		return nil
	}
	f := Findings{Errs: Follows(utilvalidation.IsDNS1123Subdomain, path, host)}
	f.AddIf(utilsnet.ParseIPSloppy(host) != nil,
		field.Invalid(path, host, "must be a DNS name, not an IP address"))
	return f.Errs
}

// LegacyIP checks an address in a field that accepted malformed addresses in the past. An address that is also in
// the argument "stored" stays valid (KEP-4858).
func LegacyIP(path *field.Path, value string, stored []string) field.ErrorList {
	return Switch(StrictAddresses, utilvalidation.IsValidIPForLegacyField(path, value, true, stored),
		utilvalidation.IsValidIPForLegacyField(path, value, false, stored))
}

// LegacyCIDR checks an address range in a field that accepted malformed ranges in the past. A range that is also in the
// argument "stored" stays valid (KEP-4858).
func LegacyCIDR(path *field.Path, value string, stored []string) field.ErrorList {
	return Switch(StrictAddresses, utilvalidation.IsValidCIDRForLegacyField(path, value, true, stored),
		utilvalidation.IsValidCIDRForLegacyField(path, value, false, stored))
}

// EndpointIP refuses addresses that can't be endpoints, such as link-local addresses. Unlike kube-apiserver, it
// accepts loopback addresses, because a webhook under development listens on a loopback address.
func EndpointIP(path *field.Path, value string) field.ErrorList {
	ip := utilsnet.ParseIPSloppy(value)
	if ip == nil {
		return field.ErrorList{field.Invalid(path, value, "must be a valid IP address")}
	}
	var f Findings
	f.AddIf(ip.IsUnspecified(), field.Invalid(path, value, fmt.Sprintf("may not be unspecified (%v)", value)))
	f.AddIf(ip.IsLinkLocalUnicast(), field.Invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
	f.AddIf(ip.IsLinkLocalMulticast(), field.Invalid(path, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
	return f.Errs
}
