package bootstrap

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	typednetworkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/utils/ptr"
)

// Service returns the Service of the API, or nil if the API has none. The address of the Service is in a range of
// service addresses, so the range must be stored before the Service.
func Service(config Config) *corev1.Service {
	if !config.hasService() {
		return nil
	}
	return config.service()
}

// hasService tells whether the API has a Service. The Service needs an address from the default ServiceCIDR, so there
// is no Service without a range, or if the resource servicecidrs isn't served.
func (c Config) hasService() bool { return len(c.ServiceCIDRs) > 0 && c.served(serviceCIDRs...) }

func (c Config) serviceCIDR() *networkingv1.ServiceCIDR {
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: apiService}}
	for _, prefix := range c.ServiceCIDRs {
		cidr.Spec.CIDRs = append(cidr.Spec.CIDRs, prefix.Masked().String())
	}
	cidr.Status.Conditions = []metav1.Condition{{
		Type:               networkingv1.ServiceCIDRConditionReady,
		Status:             metav1.ConditionTrue,
		Message:            "Kubernetes default Service CIDR is ready",
		LastTransitionTime: metav1.Now(),
	}}
	return cidr
}

// service returns the Service default/kubernetes. As in every cluster, its address is the first one of the primary range.
func (c Config) service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault,
			Name:      apiService,
			Labels:    map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeClusterIP,
			ClusterIP:       c.ServiceCIDRs[0].Masked().Addr().Next().String(),
			IPFamilyPolicy:  ptr.To(corev1.IPFamilyPolicySingleStack),
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(c.SecurePort),
			}},
		},
	}
}

func (c Config) endpoints() *corev1.Endpoints {
	endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault,
		Name:      apiService,
		Labels:    map[string]string{discoveryv1.LabelSkipMirror: "true"},
	}}
	if len(c.Endpoints) == 0 {
		return endpoints
	}
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: c.SecurePort, Protocol: corev1.ProtocolTCP}}}
	for _, address := range c.Endpoints {
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: address.String()})
	}
	endpoints.Subsets = []corev1.EndpointSubset{subset}
	return endpoints
}

func (c Config) endpointSlice() *discoveryv1.EndpointSlice {
	family := discoveryv1.AddressTypeIPv4
	name, port, protocol, ready := "https", c.SecurePort, corev1.ProtocolTCP, true
	var endpoints []discoveryv1.Endpoint
	for _, address := range c.Endpoints {
		if address.Is6() {
			family = discoveryv1.AddressTypeIPv6
		}
		endpoints = append(endpoints, discoveryv1.Endpoint{
			Addresses:  []string{address.String()},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault,
			Name:      apiService,
			Labels:    map[string]string{discoveryv1.LabelServiceName: apiService},
		},
		AddressType: family,
		Endpoints:   endpoints,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
}

// apiService is the name of four objects: the Service of the API, its Endpoints and EndpointSlice, and the default
// ServiceCIDR.
const apiService = "kubernetes"

func ensureService(ctx context.Context, client kubernetes.Interface, config Config) error {
	if err := ensureServiceCIDR(ctx, client, config.serviceCIDR()); err != nil {
		return err
	}
	services := client.CoreV1().Services(metav1.NamespaceDefault)
	want := config.service()
	return createOrUpdate(ctx, want, object[*corev1.Service]{
		get: services.Get, create: services.Create, update: services.Update,
		merge: func(have *corev1.Service) { // the API refuses another address for an existing Service
			have.Spec.Type, have.Spec.Ports = want.Spec.Type, want.Spec.Ports
		},
	})
}

// ensureServiceCIDR creates the default ServiceCIDR. It changes an existing ServiceCIDR only by adding a second range,
// because ranges can't be changed while they are in use.
func ensureServiceCIDR(ctx context.Context, client kubernetes.Interface, want *networkingv1.ServiceCIDR) error {
	cidrs := client.NetworkingV1().ServiceCIDRs()
	have, err := cidrs.Get(ctx, want.Name, metav1.GetOptions{})
	if err == nil {
		return addSecondRange(ctx, cidrs, have, want)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get service CIDR %s: %w", want.Name, err)
	}
	created, err := cidrs.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create service CIDR %s: %w", want.Name, err)
	}
	created.Status = want.Status
	if _, err := cidrs.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update status of service CIDR %s: %w", want.Name, err)
	}
	return nil
}

// addSecondRange adds the second of the wanted ranges to a ServiceCIDR with only the first range. The cluster is
// dual-stack afterwards.
func addSecondRange(ctx context.Context, cidrs typednetworkingv1.ServiceCIDRInterface, have, want *networkingv1.ServiceCIDR) error {
	if len(have.Spec.CIDRs) != 1 || len(want.Spec.CIDRs) != 2 || have.Spec.CIDRs[0] != want.Spec.CIDRs[0] {
		return nil
	}
	updated := have.DeepCopy()
	updated.Spec.CIDRs = want.Spec.CIDRs
	if _, err := cidrs.Update(ctx, updated, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("add range %s to service CIDR %s: %w", want.Spec.CIDRs[1], want.Name, err)
	}
	return nil
}

// Endpoints returns the addresses of the Service's endpoints.
func Endpoints(ctx context.Context, client kubernetes.Interface) ([]netip.Addr, error) {
	endpoints, err := client.CoreV1().Endpoints(metav1.NamespaceDefault).Get(ctx, apiService, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get endpoints %s/%s: %w", metav1.NamespaceDefault, apiService, err)
	}
	var addresses []netip.Addr
	for _, subset := range endpoints.Subsets {
		for _, a := range subset.Addresses {
			if address, err := netip.ParseAddr(a.IP); err == nil {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses, nil
}

// EnsureEndpoints makes the config's Endpoints the endpoints of the Service, also if there are none.
func EnsureEndpoints(ctx context.Context, client kubernetes.Interface, config Config) error {
	endpoints := client.CoreV1().Endpoints(metav1.NamespaceDefault)
	want := config.endpoints()
	err := createOrUpdate(ctx, want, object[*corev1.Endpoints]{
		get: endpoints.Get, create: endpoints.Create, update: endpoints.Update,
		merge: func(have *corev1.Endpoints) {
			have.Labels = with(have.Labels, want.Labels)
			have.Subsets = want.Subsets
		},
	})
	if err != nil || !config.served(endpointSlices...) {
		return err
	}
	return ensureEndpointSlice(ctx, client, config)
}

func ensureEndpointSlice(ctx context.Context, client kubernetes.Interface, config Config) error {
	slices := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	want := config.endpointSlice()
	have, err := slices.Get(ctx, want.Name, metav1.GetOptions{})
	// The API refuses another address type for an existing slice, so delete the slice first.
	if err == nil && have.AddressType != want.AddressType {
		if err := slices.Delete(ctx, want.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete endpoint slice %s: %w", want.Name, err)
		}
	}
	return createOrUpdate(ctx, want, object[*discoveryv1.EndpointSlice]{
		get: slices.Get, create: slices.Create, update: slices.Update,
		merge: func(have *discoveryv1.EndpointSlice) {
			have.Labels = with(have.Labels, want.Labels)
			have.Endpoints, have.Ports = want.Endpoints, want.Ports
		},
	})
}
