package service

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	rand "math/rand/v2"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	utilsnet "k8s.io/utils/net"
)

// errIPOutOfRange has kube-apiserver's text.
var errIPOutOfRange = errors.New("the provided network does not match the current range")

// clusterIPs allocates addresses from the ranges of ServiceCIDR objects. For each allocated address, there is an
// IPAddress object whose name is the address (KEP-1880).
type clusterIPs struct {
	reservations
	cidrs *genericregistry.Store
	// nets are the ranges that are used if there is no ServiceCIDR.
	nets []netip.Prefix
}

// reserveIP reserves the address value for the service owner. added is false if the service has the address already.
// A dry run only checks that the address is in a range.
func (c *clusterIPs) reserveIP(ctx context.Context, value string, owner types.NamespacedName, dryRun bool) (added bool, err error) {
	ip, err := canonicalIP(value)
	if err != nil {
		return false, err
	}
	inRange := func(p netip.Prefix) bool { return contains(p, ip) }
	ranges, err := c.ranges(ctx, familyOf(ip), true)
	if err == nil && !slices.ContainsFunc(ranges, inRange) {
		// The cache may not have a new ServiceCIDR yet, so read from etcd.
		ranges, err = c.ranges(ctx, familyOf(ip), false)
	}
	switch {
	case err != nil:
		return false, err
	case !slices.ContainsFunc(ranges, inRange):
		if dryRun && len(ranges) > 0 {
			return false, fmt.Errorf("the provided IP (%v) is not in the valid range. The range of valid IPs is %s", ip, ranges[0])
		}
		return false, errIPOutOfRange
	case dryRun:
		return false, nil
	}
	added, err = c.reserve(ctx, ip.String(), owner)
	if errors.Is(err, errReserved) {
		err = errIPReserved
	}
	return added, err
}

// reserveAnyIP reserves any address of an IP family. A dry run returns an address that no service can have.
func (c *clusterIPs) reserveAnyIP(ctx context.Context, family corev1.IPFamily, owner types.NamespacedName, dryRun bool) (string, error) {
	for _, cached := range []bool{true, false} {
		ranges, err := c.ranges(ctx, family, cached)
		if err != nil {
			return "", err
		}
		for _, r := range ranges {
			if dryRun {
				return r.Addr().String(), nil
			}
			ip, err := c.reserveAny(ctx, candidateIPs(r), owner)
			if !errors.Is(err, errNoneIsLeft) {
				return ip, err
			}
		}
	}
	return "", errNoneIsLeft
}

func (c *clusterIPs) releaseIP(ctx context.Context, value string, owner types.NamespacedName) error {
	ip, err := canonicalIP(value)
	if err != nil {
		return err
	}
	return c.release(ctx, ip.String(), owner)
}

// ranges returns the ranges of an IP family, from all ServiceCIDRs that can be used.
func (c *clusterIPs) ranges(ctx context.Context, family corev1.IPFamily, cached bool) ([]netip.Prefix, error) {
	options := &metainternalversion.ListOptions{}
	if cached {
		options.ResourceVersion = "0"
	}
	list, err := c.cidrs.List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("listing the ServiceCIDRs: %w", err)
	}
	prefixes := c.nets
	if items := list.(*networkingv1.ServiceCIDRList).Items; len(items) > 0 {
		prefixes = nil
		for i := range items {
			prefixes = append(prefixes, usableRanges(&items[i])...)
		}
	}
	return slices.DeleteFunc(slices.Clone(prefixes), func(p netip.Prefix) bool { return familyOf(p.Addr()) != family }), nil
}

// usableRanges returns the ranges of a ServiceCIDR. It returns none if the ServiceCIDR is being deleted, or isn't
// ready. Without a condition, a ServiceCIDR counts as ready, because the controller that sets the condition may not
// be running.
func usableRanges(cidr *networkingv1.ServiceCIDR) []netip.Prefix {
	if !cidr.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, condition := range cidr.Status.Conditions {
		if condition.Type == networkingv1.ServiceCIDRConditionReady && condition.Status != metav1.ConditionTrue {
			return nil
		}
	}
	var prefixes []netip.Prefix
	for _, value := range cidr.Spec.CIDRs {
		if prefix, err := netip.ParsePrefix(value); err == nil {
			prefixes = append(prefixes, prefix.Masked())
		}
	}
	return prefixes
}

// candidateIPs yields the addresses of a range in the order in which they are tried. It begins with the upper part
// of the range, at a random address. Then it yields the lower part, which should stay free for services that
// request an address (KEP-3070).
func candidateIPs(r netip.Prefix) iter.Seq[string] {
	hosts := hosts(r)
	var static uint64
	if size := hosts + reservedIPs(r); size > 16 {
		static = min(max(size/16, 16), 256)
	}
	return func(yield func(string) bool) {
		for _, band := range [][2]uint64{{static, hosts - static}, {0, static}} {
			for offset := range rotation(band[0], band[1]) {
				if !yield(addressAt(r, 1+offset).String()) {
					return
				}
			}
		}
	}
}

// rotation yields each number of [first, first+size) once. It begins at a random number.
func rotation(first, size uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if size == 0 {
			return
		}
		start := rand.Uint64N(size)
		for i := range size {
			if !yield(first + (start+i)%size) {
				return
			}
		}
	}
}

// hosts returns the number of addresses of a range that services can have. If the addresses of a range differ in
// more than 62 bits, hosts counts only addresses that differ in the lowest 62 bits.
func hosts(r netip.Prefix) uint64 {
	bits := min(r.Addr().BitLen()-r.Bits(), 62)
	size := uint64(1) << bits
	return size - min(size, reservedIPs(r))
}

// reservedIPs returns the number of addresses of a range that no service can have. These are the address of the
// network and, in IPv4, the broadcast address.
func reservedIPs(r netip.Prefix) uint64 {
	if r.Addr().Is4() {
		return 2
	}
	return 1
}

// contains reports whether an address is in a range and can be used for a service.
func contains(r netip.Prefix, ip netip.Addr) bool {
	if !r.Contains(ip) || ip == r.Addr() {
		return false
	}
	return ip.Is6() || ip != addressAt(r, hosts(r)+1)
}

// addressAt returns the address of a range at an offset. The offset has at most 62 bits, so it fits into the lower
// half of an IPv6 address.
func addressAt(r netip.Prefix, number uint64) netip.Addr {
	if r.Addr().Is4() {
		b := r.Addr().As4()
		binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(number&math.MaxUint32))
		return netip.AddrFrom4(b)
	}
	b := r.Addr().As16()
	binary.BigEndian.PutUint64(b[8:], binary.BigEndian.Uint64(b[8:])+number)
	return netip.AddrFrom16(b)
}

// canonicalIP parses an address. Old clients may have written it with leading zeros.
func canonicalIP(value string) (netip.Addr, error) {
	ip, ok := netip.AddrFromSlice(utilsnet.ParseIPSloppy(value))
	if !ok {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", value)
	}
	return ip.Unmap(), nil
}

func familyOf(ip netip.Addr) corev1.IPFamily {
	if ip.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func prefixes(nets []*net.IPNet) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, n := range nets {
		prefix, err := netip.ParsePrefix(n.String())
		if err != nil {
			return nil, fmt.Errorf("range of cluster IPs %q: %w", n, err)
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}
