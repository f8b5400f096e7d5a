package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// nodePorts allocates the ports of --service-node-port-range.
type nodePorts struct {
	reservations
	ports utilnet.PortRange
}

// candidates yields all ports in the order in which they are tried. It begins with the upper part of the range, at
// a random port. Then it yields the lower part, which should stay free for services that request a port (KEP-3668).
func (n *nodePorts) candidates() iter.Seq[string] {
	size, static := uint64(max(n.ports.Size, 0)), uint64(0)
	if size > 16 {
		static = min(max(size/32, 16), 128)
	}
	return func(yield func(string) bool) {
		for _, band := range [][2]uint64{{static, size - static}, {0, static}} {
			for offset := range rotation(band[0], band[1]) {
				if !yield(strconv.FormatUint(uint64(n.ports.Base)+offset, 10)) {
					return
				}
			}
		}
	}
}

// portClaim collects the node ports that one write of a service reserves and releases.
type portClaim struct {
	*nodePorts
	*allocation
	owner  types.NamespacedName
	dryRun bool
	// taken are the ports that this write has reserved. A dry run stores no reservation, so taken is the only
	// record of its ports.
	taken []int32
}

// take reserves a port. A dry run only checks that the port has no reservation.
func (c *portClaim) take(ctx context.Context, port int32) error {
	if slices.Contains(c.taken, port) {
		return errPortReserved
	}
	key := strconv.Itoa(int(port))
	if c.dryRun {
		entry, err := c.get(ctx, key, false)
		if err == nil && entry != nil {
			err = errPortReserved
		}
		if err == nil {
			c.taken = append(c.taken, port)
		}
		return err
	}
	if !c.ports.Contains(int(port)) {
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %s", c.ports.String())
	}
	added, err := c.reserve(ctx, key, c.owner)
	if errors.Is(err, errReserved) {
		return errPortReserved
	}
	if err != nil {
		return err
	}
	c.taken = append(c.taken, port)
	if added {
		c.onRevert(c.release, key, c.owner)
	}
	return nil
}

// firstDryPort is the first port that a dry run returns. It is above the default range of node ports, so that users
// don't mistake it for a port that is reserved.
const firstDryPort = 32769

// takeAny reserves any free port. A dry run reserves nothing, and returns a port that may not be free.
func (c *portClaim) takeAny(ctx context.Context) (int32, error) {
	if c.dryRun {
		port := int32(firstDryPort)
		if len(c.taken) > 0 {
			port = slices.Max(c.taken) + 1
		}
		c.taken = append(c.taken, port)
		return port, nil
	}
	key, err := c.reserveAny(ctx, c.candidates(), c.owner)
	if err != nil {
		return 0, err
	}
	c.onRevert(c.release, key, c.owner)
	port, err := strconv.ParseInt(key, 10, 32)
	if err != nil {
		return 0, err
	}
	c.taken = append(c.taken, int32(port))
	return int32(port), nil
}

// giveUp makes the commit of the allocation release a port. A dry run releases nothing.
func (c *portClaim) giveUp(port int32) {
	if !c.dryRun {
		c.onCommit(c.release, strconv.Itoa(int(port)), c.owner)
	}
}

// create reserves the node ports of a new service. Service ports with the same number but different protocols, such
// as the two ports of DNS, share a node port.
func (c *portClaim) create(ctx context.Context, s *corev1.Service) error {
	if hasNodePorts(s) {
		shared := map[int32]int32{}
		for i := range s.Spec.Ports {
			port := &s.Spec.Ports[i]
			number, ok := shared[port.Port]
			switch {
			case port.NodePort == 0 && !allocatesNodePorts(s):
				continue
			case !ok:
				if err := c.first(ctx, s, i); err != nil {
					return err
				}
				shared[port.Port] = port.NodePort
			case port.NodePort == 0:
				port.NodePort = number
			case port.NodePort != number:
				if err := c.take(ctx, port.NodePort); err != nil {
					return invalidNodePort(s, i, port.NodePort, err)
				}
			}
		}
	}
	if needsHealthCheck(s) {
		return c.healthCheck(ctx, s)
	}
	return nil
}

// first reserves a node port for the service port with the index i. No earlier service port has the same number. If a
// service port with this number requests a node port, first reserves the requested port. Otherwise it reserves any free
// port.
func (c *portClaim) first(ctx context.Context, s *corev1.Service, i int) error {
	port := &s.Spec.Ports[i]
	asked := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port.Port && p.NodePort != 0 })
	if asked < 0 {
		return c.anyFor(ctx, port)
	}
	number := s.Spec.Ports[asked].NodePort
	if err := c.take(ctx, number); err != nil {
		return invalidNodePort(s, i, number, err)
	}
	port.NodePort = number
	return nil
}

func (c *portClaim) anyFor(ctx context.Context, port *corev1.ServicePort) error {
	number, err := c.takeAny(ctx)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
	}
	port.NodePort = number
	return nil
}

// update reserves the node ports that an update adds to a service. It prepares the release of the node ports that
// the service no longer needs.
func (c *portClaim) update(ctx context.Context, s, old *corev1.Service) error {
	had := nodePortsOf(old)
	if hasNodePorts(s) {
		if err := c.missing(ctx, s, had); err != nil {
			return err
		}
	}
	if hasNodePorts(s) || hasNodePorts(old) {
		var has []int32
		if hasNodePorts(s) {
			has = nodePortsOf(s)
		}
		for _, port := range had {
			if !slices.Contains(has, port) {
				c.giveUp(port)
			}
		}
	}
	switch needed, needs := needsHealthCheck(old), needsHealthCheck(s); {
	case needs && !needed:
		return c.healthCheck(ctx, s)
	case needed && !needs:
		c.giveUp(old.Spec.HealthCheckNodePort)
	}
	return nil
}

// missing reserves the node ports that the service requests, and any free node port for each service port without one.
// The stored service has the ports in had already.
func (c *portClaim) missing(ctx context.Context, s *corev1.Service, had []int32) error {
	type nodePort struct {
		protocol corev1.Protocol
		number   int32
	}
	seen := map[nodePort]bool{}
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		if port.NodePort == 0 {
			if !allocatesNodePorts(s) {
				continue
			}
			if err := c.anyFor(ctx, port); err != nil {
				return err
			}
		} else if !slices.Contains(had, port.NodePort) && !slices.Contains(c.taken, port.NodePort) {
			if err := c.take(ctx, port.NodePort); err != nil {
				return invalidNodePort(s, i, port.NodePort, err)
			}
		}
		p := nodePort{port.Protocol, port.NodePort}
		if seen[p] {
			return fmt.Errorf("duplicate nodePort: %v", p)
		}
		seen[p] = true
	}
	return nil
}

// healthCheck reserves healthCheckNodePort. A load balancer sends requests to this port of a node, to check whether
// the node has endpoints of the service.
func (c *portClaim) healthCheck(ctx context.Context, s *corev1.Service) error {
	if port := s.Spec.HealthCheckNodePort; port != 0 {
		if err := c.take(ctx, port); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", port, err))
		}
		return nil
	}
	port, err := c.takeAny(ctx)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a HealthCheck NodePort %v: %w", port, err))
	}
	s.Spec.HealthCheckNodePort = port
	return nil
}

func invalidNodePort(s *corev1.Service, i int, port int32, err error) error {
	path := field.NewPath("spec", "ports").Index(i).Child("nodePort")
	return invalidService(s, field.Invalid(path, port, err.Error()))
}

// hasNodePorts reports whether services of this type can have node ports.
func hasNodePorts(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// allocatesNodePorts reports whether a service port gets a node port even if it requests none.
func allocatesNodePorts(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort ||
		s.Spec.Type == corev1.ServiceTypeLoadBalancer && ptr.Deref(s.Spec.AllocateLoadBalancerNodePorts, true)
}

// nodePortsOf returns the node ports of a service, without healthCheckNodePort.
func nodePortsOf(s *corev1.Service) []int32 {
	var ports []int32
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			ports = append(ports, p.NodePort)
		}
	}
	return ports
}
