package endpointslicemirroring

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/endpointslice/util"
	netutils "k8s.io/utils/net"
)

// group identifies the addresses that a slice has: those of one type, with the same ports.
type group struct {
	addresses discoveryv1.AddressType
	ports     util.PortMapKey
}

// mirrored are the addresses of a group.
type mirrored struct {
	ports     []discoveryv1.EndpointPort
	endpoints util.EndpointSet
}

// write makes the slices of Endpoints have their addresses. A slice that is no longer needed becomes one that is.
func (c *controller) write(ctx context.Context, endpoints *corev1.Endpoints, existing []*discoveryv1.EndpointSlice) error {
	wanted := c.mirror(endpoints)
	of := map[group][]*discoveryv1.EndpointSlice{}
	for _, slice := range existing {
		g := group{slice.AddressType, util.NewPortMapKey(slice.Ports)}
		of[g] = append(of[g], slice)
	}
	var create, update, spare []*discoveryv1.EndpointSlice
	for g, all := range of {
		if m := wanted[g]; m.endpoints.Len() == 0 {
			spare = append(spare, all...)
		} else if spare = append(spare, all[1:]...); c.isUpToDate(endpoints, all[0], m) {
			c.keep(all[0])
		} else {
			changed := newSlice(endpoints, g, m)
			changed.Name = all[0].Name
			update = append(update, changed)
		}
	}
	for g, m := range wanted {
		if m.endpoints.Len() == 0 || len(of[g]) > 0 {
			continue
		}
		made := newSlice(endpoints, g, m)
		if i := slices.IndexFunc(spare, func(s *discoveryv1.EndpointSlice) bool { return s.AddressType == g.addresses }); i >= 0 {
			made.Name = spare[i].Name
			spare = slices.Delete(spare, i, i+1)
			update = append(update, made)
		} else {
			create = append(create, made)
		}
	}
	return c.send(ctx, endpoints, create, update, spare)
}

// send sends the writes. Nothing is created for Endpoints that are being deleted, or in a namespace that is.
func (c *controller) send(ctx context.Context, endpoints *corev1.Endpoints, create, update, spare []*discoveryv1.EndpointSlice) error {
	client := c.Client.EndpointSlices(endpoints.Namespace)
	for _, slice := range create {
		if endpoints.DeletionTimestamp != nil {
			break
		}
		prefix := endpoints.Name + "-"
		if len(validation.NameIsDNSSubdomain(prefix, true)) > 0 {
			prefix = endpoints.Name
		}
		slice.GenerateName = prefix
		created, err := client.Create(ctx, slice, metav1.CreateOptions{})
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		if err != nil {
			return err
		}
		c.written.Update(created)
	}
	for _, slice := range update {
		updated, err := client.Update(ctx, slice, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		c.written.Update(updated)
	}
	for _, slice := range spare {
		if err := client.Delete(ctx, slice.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		c.written.ExpectDeletion(slice)
	}
	return nil
}

func (c *controller) keep(slice *discoveryv1.EndpointSlice) {
	if !c.written.Has(slice) {
		c.written.Update(slice)
	}
}

// mirror returns the addresses that Endpoints have. Events tell of addresses that are left out.
func (c *controller) mirror(endpoints *corev1.Endpoints) map[group]mirrored {
	all := map[group]mirrored{}
	invalid, skipped := 0, 0
	for _, subset := range repack(endpoints.Subsets) {
		ports := portsOf(subset.Ports)
		added := 0
		add := func(addresses []corev1.EndpointAddress, ready bool) {
			for i, address := range addresses {
				if added == maxEndpoints {
					skipped += len(addresses) - i
					return
				}
				endpoint, kind, ok := endpointOf(address, ready)
				if !ok {
					invalid++
					continue
				}
				g := group{kind, util.NewPortMapKey(ports)}
				if all[g].endpoints == nil {
					all[g] = mirrored{ports, util.EndpointSet{}}
				}
				all[g].endpoints.Insert(endpoint)
				added++
			}
		}
		add(subset.Addresses, true)
		add(subset.NotReadyAddresses, false)
	}
	if invalid > 0 {
		c.Events.Warn(endpoints, "InvalidIPAddress", "Skipped %d invalid IP addresses when mirroring to EndpointSlices", invalid)
	}
	if skipped > 0 {
		c.Events.Warn(endpoints, "TooManyAddressesToMirror",
			"A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped", maxEndpoints, skipped+invalid)
	}
	return all
}

func portsOf(all []corev1.EndpointPort) []discoveryv1.EndpointPort {
	ports := []discoveryv1.EndpointPort{}
	for _, p := range all {
		ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol})
	}
	return ports
}

// endpointOf returns what a slice has for an address, and the type of the address.
func endpointOf(address corev1.EndpointAddress, ready bool) (*discoveryv1.Endpoint, discoveryv1.AddressType, bool) {
	ip := netutils.ParseIPSloppy(address.IP)
	if ip == nil {
		return nil, "", false
	}
	kind := discoveryv1.AddressTypeIPv4
	if ip.To4() == nil {
		kind = discoveryv1.AddressTypeIPv6
	}
	endpoint := &discoveryv1.Endpoint{
		Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: address.TargetRef, NodeName: address.NodeName,
	}
	if address.Hostname != "" {
		endpoint.Hostname = &address.Hostname
	}
	return endpoint, kind, true
}

// newSlice returns a slice without a name.
func newSlice(endpoints *corev1.Endpoints, g group, m mirrored) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: endpoints.Namespace, Labels: map[string]string{}, Annotations: annotationsOf(endpoints),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(endpoints, corev1.SchemeGroupVersion.WithKind("Endpoints"))},
		},
		AddressType: g.addresses, Ports: m.ports,
	}
	maps.Copy(slice.Labels, endpoints.Labels)
	slice.Labels[discoveryv1.LabelServiceName], slice.Labels[discoveryv1.LabelManagedBy] = endpoints.Name, manager
	for _, endpoint := range m.endpoints.UnsortedList() {
		if len(slice.Endpoints) < maxEndpoints {
			slice.Endpoints = append(slice.Endpoints, *endpoint)
		}
	}
	return slice
}

// annotationsOf returns the annotations of the slices of Endpoints.
func annotationsOf(endpoints *corev1.Endpoints) map[string]string {
	all := map[string]string{}
	maps.Copy(all, endpoints.Annotations)
	delete(all, corev1.EndpointsLastChangeTriggerTime)
	delete(all, corev1.LastAppliedConfigAnnotation)
	return all
}

// isUpToDate reports whether a slice has the addresses, labels and annotations of Endpoints.
func (c *controller) isUpToDate(endpoints *corev1.Endpoints, slice *discoveryv1.EndpointSlice, m mirrored) bool {
	if len(slice.Endpoints) != m.endpoints.Len() {
		return false
	}
	for i := range slice.Endpoints {
		if wanted := m.endpoints.Get(&slice.Endpoints[i]); wanted == nil || !util.EndpointsEqualBeyondHash(wanted, &slice.Endpoints[i]) {
			return false
		}
	}
	of := maps.Clone(slice.Labels)
	delete(of, discoveryv1.LabelServiceName)
	delete(of, discoveryv1.LabelManagedBy)
	return maps.Equal(of, endpoints.Labels) && maps.Equal(slice.Annotations, annotationsOf(endpoints)) &&
		!slices.ContainsFunc(slice.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "Endpoints" && o.Name == endpoints.Name && o.UID != endpoints.UID
		})
}
