package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// serviceAllocator allocates the cluster IPs and node ports of services, and releases them.
type serviceAllocator struct {
	families ipFamilies
	ips      clusterIPs
	ports    nodePorts
}

// allocation collects the reservations that a write of a service makes, and the old reservations that the service
// no longer needs. If the write succeeds, the old reservations are released. If it fails, the new reservations are
// released.
type allocation struct{ reverts, commits []func(context.Context) error }

type releaseFunc func(ctx context.Context, key string, owner types.NamespacedName) error

// onRevert makes finish release a new reservation, if the write fails.
func (a *allocation) onRevert(release releaseFunc, key string, owner types.NamespacedName) {
	a.reverts = append(a.reverts, func(ctx context.Context) error { return release(ctx, key, owner) })
}

// onCommit makes finish release an old reservation, if the write succeeds.
func (a *allocation) onCommit(release releaseFunc, key string, owner types.NamespacedName) {
	a.commits = append(a.commits, func(ctx context.Context) error { return release(ctx, key, owner) })
}

// finish releases the old reservations if the service was stored. Otherwise it releases the new reservations. Only the
// first call has an effect. If a release fails, no service uses the reservation, and a later write can take it over.
func (a *allocation) finish(ctx context.Context, stored bool) {
	do := a.reverts
	if stored {
		do = a.commits
	}
	a.reverts, a.commits = nil, nil
	for _, release := range do {
		if err := release(ctx); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "releasing a cluster IP or a node port of a service")
		}
	}
}

// create reserves the addresses and ports of a new service.
func (a *serviceAllocator) create(ctx context.Context, s *corev1.Service, dryRun bool) (*allocation, error) {
	alignNewClusterIPs(s)
	if err := a.families.settle(s, nil); err != nil {
		return nil, err
	}
	return a.allocate(ctx, s, dryRun, func(t *allocation) error {
		if err := a.allocateIPs(ctx, t, s, 0, dryRun); err != nil {
			return err
		}
		return a.claim(t, s, dryRun).create(ctx, s)
	})
}

// update reserves the addresses and ports that an update adds to a service. It prepares the release of the
// addresses and ports that the service no longer needs.
func (a *serviceAllocator) update(ctx context.Context, s, old *corev1.Service, dryRun bool) (*allocation, error) {
	a.families.complete(old) // the store completes a service only when a client reads it
	carryOver(s, old)
	alignClusterIPs(s, old)
	if err := a.families.settle(s, old); err != nil {
		return nil, err
	}
	return a.allocate(ctx, s, dryRun, func(t *allocation) error {
		if err := a.updateIPs(ctx, t, s, old, dryRun); err != nil {
			return err
		}
		return a.claim(t, s, dryRun).update(ctx, s, old)
	})
}

// allocate calls the function do with a new allocation. If do fails, allocate releases all reservations that do has
// made.
func (a *serviceAllocator) allocate(ctx context.Context, s *corev1.Service, dryRun bool, do func(*allocation) error) (*allocation, error) {
	t := &allocation{}
	if err := do(t); err != nil {
		t.finish(ctx, false)
		return nil, err
	}
	return t, nil
}

func (a *serviceAllocator) claim(t *allocation, s *corev1.Service, dryRun bool) *portClaim {
	return &portClaim{nodePorts: &a.ports, allocation: t, owner: ownerOf(s), dryRun: dryRun}
}

// updateIPs reserves and releases addresses if a service becomes an ExternalName or ceases to be one, or if it
// gains or loses its second address. The first address can't change.
func (a *serviceAllocator) updateIPs(ctx context.Context, t *allocation, s, old *corev1.Service, dryRun bool) error {
	had, has := len(old.Spec.IPFamilies), len(s.Spec.IPFamilies)
	switch {
	case staysPreferDualStack(s, old):
	case !hasClusterIP(old) && hasClusterIP(s):
		return a.allocateIPs(ctx, t, s, 0, dryRun)
	case isHeadlessSpec(old):
	case hasClusterIP(old) && !hasClusterIP(s):
		a.giveUpIPs(t, old, 0, dryRun)
	case had == 1 && has == 2:
		return a.allocateIPs(ctx, t, s, 1, dryRun)
	case had == 2 && has == 1:
		a.giveUpIPs(t, old, 1, dryRun)
	}
	return nil
}

// allocateIPs reserves the cluster IPs of a service, beginning at the index from. If the service requests an
// address, allocateIPs reserves this address, and otherwise any address.
func (a *serviceAllocator) allocateIPs(ctx context.Context, t *allocation, s *corev1.Service, from int, dryRun bool) error {
	if !hasClusterIP(s) || isHeadlessSpec(s) {
		return nil
	}
	owner, families := ownerOf(s), s.Spec.IPFamilies
	ips := slices.Clone(s.Spec.ClusterIPs)
	for len(ips) < len(families) {
		ips = append(ips, "")
	}
	s.Spec.ClusterIPs = ips
	for i := from; i < len(families); i++ {
		added, asked := true, ips[i]
		var err error
		if asked == "" {
			ips[i], err = a.ips.reserveAnyIP(ctx, families[i], owner, dryRun)
			switch {
			case errors.Is(err, errNoneIsLeft):
				return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", s.Name, err))
			case err != nil:
				return invalidService(s, field.Invalid(ipsPath, s.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP: %v", err)))
			}
		} else if added, err = a.ips.reserveIP(ctx, asked, owner, dryRun); err != nil {
			return invalidService(s, field.Invalid(ipsPath, s.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %v: %v", asked, err)))
		}
		if added && !dryRun {
			t.onRevert(a.ips.releaseIP, ips[i], owner)
		}
	}
	if len(ips) > 0 {
		s.Spec.ClusterIP = ips[0]
	}
	return nil
}

func (a *serviceAllocator) giveUpIPs(t *allocation, old *corev1.Service, from int, dryRun bool) {
	if dryRun {
		return
	}
	for _, ip := range old.Spec.ClusterIPs[min(from, len(old.Spec.ClusterIPs)):] {
		t.onCommit(a.ips.releaseIP, ip, ownerOf(old))
	}
}

// release releases all addresses and ports of a deleted service.
func (a *serviceAllocator) release(ctx context.Context, s *corev1.Service) {
	t := &allocation{}
	if hasClusterIP(s) && !isHeadlessSpec(s) {
		a.giveUpIPs(t, s, 0, false)
	}
	claim := a.claim(t, s, false)
	for _, port := range nodePortsOf(s) {
		claim.giveUp(port)
	}
	if s.Spec.HealthCheckNodePort != 0 {
		claim.giveUp(s.Spec.HealthCheckNodePort)
	}
	t.finish(ctx, true)
}

func ownerOf(s *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// usesIP reports whether a service has the address among its cluster IPs.
func usesIP(s *corev1.Service, key string) bool {
	return hasClusterIP(s) && slices.ContainsFunc(s.Spec.ClusterIPs, func(value string) bool {
		ip, err := canonicalIP(value)
		return err == nil && ip.String() == key
	})
}

// usesPort reports whether a port is one of the node ports of a service, or its healthCheckNodePort.
func usesPort(s *corev1.Service, key string) bool {
	is := func(port int32) bool { return fmt.Sprint(port) == key }
	return is(s.Spec.HealthCheckNodePort) || slices.ContainsFunc(nodePortsOf(s), is)
}
