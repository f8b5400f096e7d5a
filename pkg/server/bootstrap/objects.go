package bootstrap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/miniapi-dev/miniapi/pkg/controllers/clusterroles"
)

const (
	// authenticationConfigMap is the name of the ConfigMap with the certificates by which extension API servers
	// authenticate requests.
	authenticationConfigMap = "extension-apiserver-authentication"
	// tokenTrackingConfigMap is the name of the ConfigMap with the date since which servers record the use of legacy
	// tokens: see package serviceaccount.
	tokenTrackingConfigMap = "kube-apiserver-legacy-service-account-token-tracking"
	// apiService is the name of four objects: the Service of the API, its Endpoints and EndpointSlice, and the default
	// ServiceCIDR.
	apiService = "kubernetes"
)

// Config has the server settings that determine the content of the bootstrap objects.
type Config struct {
	// ServiceCIDRs are one or two ranges of service addresses. Two ranges are of different IP families, and the primary
	// range comes first.
	ServiceCIDRs []netip.Prefix
	// SecurePort is the port that the server listens on.
	SecurePort int32
	// AdvertiseAddress is the server's address in the endpoints of the Service. With the zero address, the Service has
	// no endpoints. A server sets no address if clients on other machines can't reach the server, or if
	// --endpoint-reconciler-type is none.
	AdvertiseAddress netip.Addr
	// ClientCA and RequestHeader have the data by which extension API servers authenticate requests: the authority of
	// client certificates, and the authority and the headers of front proxies. Either may be nil.
	ClientCA      dynamiccertificates.CAContentProvider
	RequestHeader *authenticatorfactory.RequestHeaderConfig
	// Served tells whether a resource is served. Objects leaves out objects of resources that --runtime-config turns
	// off. A nil Served means that all resources are served.
	Served func(schema.GroupVersionResource) bool
	// Aggregated makes Objects fill in the rules of the cluster roles that have an aggregationRule. Otherwise a
	// controller of kube-controller-manager fills in these rules.
	Aggregated bool
}

// served tells whether all of the resources are served.
func (c Config) served(resources ...schema.GroupVersionResource) bool {
	for _, resource := range resources {
		if c.Served != nil && !c.Served(resource) {
			return false
		}
	}
	return true
}

// --runtime-config can turn these resources off. If a resource in one of these lists is off, the server creates no
// objects of that list. All other objects of this package are in the core group.
var (
	rbacResources        = resourcesOf(rbacv1.SchemeGroupVersion, "clusterroles", "clusterrolebindings", "roles", "rolebindings")
	priorityClasses      = resourcesOf(schedulingv1.SchemeGroupVersion, "priorityclasses")
	flowControlResources = resourcesOf(flowcontrolv1.SchemeGroupVersion, "prioritylevelconfigurations", "flowschemas")
	serviceCIDRs         = resourcesOf(networkingv1.SchemeGroupVersion, "servicecidrs")
	endpointSlices       = resourcesOf(discoveryv1.SchemeGroupVersion, "endpointslices")
)

func resourcesOf(gv schema.GroupVersion, names ...string) []schema.GroupVersionResource {
	var resources []schema.GroupVersionResource
	for _, name := range names {
		resources = append(resources, gv.WithResource(name))
	}
	return resources
}

// rbacObjects returns the default roles and bindings, which are most of the objects. They are the same in every server,
// so they are made once in a process.
var rbacObjects = sync.OnceValue(func() []runtime.Object {
	objects := appendAll(nil, ClusterRoles())
	objects = appendAll(objects, ClusterRoleBindings())
	objects = appendAll(objects, Roles())
	return appendAll(objects, RoleBindings())
})

// aggregatedObjects returns the objects of rbacObjects. Each role with an aggregationRule has its rules filled in.
var aggregatedObjects = sync.OnceValues(func() ([]runtime.Object, error) {
	objects := slices.Clone(rbacObjects())
	var roles []*rbacv1.ClusterRole
	for _, object := range objects {
		if role, ok := object.(*rbacv1.ClusterRole); ok {
			roles = append(roles, role)
		}
	}
	slices.SortFunc(roles, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	for i, object := range objects {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok || role.AggregationRule == nil {
			continue
		}
		filled := *role
		var err error
		if filled.Rules, err = clusterroles.Aggregated(role, roles); err != nil {
			return nil, fmt.Errorf("rules of cluster role %s: %w", role.Name, err)
		}
		objects[i] = &filled
	}
	return objects, nil
})

func (c Config) rbacObjects() ([]runtime.Object, error) {
	if c.Aggregated {
		return aggregatedObjects()
	}
	return rbacObjects(), nil
}

// Objects returns all objects except [Service]. An object comes after the objects that it needs, such as its namespace.
// Servers of a process share some of the objects: callers must change only copies.
func Objects(config Config) ([]runtime.Object, error) {
	trust, err := config.authenticationConfigMap()
	if err != nil {
		return nil, err
	}
	objects := appendAll(nil, Namespaces())
	if config.served(rbacResources...) {
		rbac, err := config.rbacObjects()
		if err != nil {
			return nil, err
		}
		objects = append(objects, rbac...)
	}
	if config.served(priorityClasses...) {
		objects = appendAll(objects, systemPriorityClasses())
	}
	if config.served(flowControlResources...) {
		objects = appendAll(objects, PriorityLevelConfigurations())
		objects = appendAll(objects, FlowSchemas())
	}
	objects = append(objects, trust, tokenTracking(time.Now()))
	if config.hasService() {
		objects = append(objects, config.serviceCIDR())
	}
	if config.AdvertiseAddress.IsValid() {
		objects = append(objects, config.endpoints())
		if config.served(endpointSlices...) {
			objects = append(objects, config.endpointSlice())
		}
	}
	return objects, nil
}

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

func appendAll[T runtime.Object](to []runtime.Object, objects []T) []runtime.Object {
	for _, object := range objects {
		to = append(to, object)
	}
	return to
}

// Namespaces returns the system namespaces.
func Namespaces() []*corev1.Namespace {
	var namespaces []*corev1.Namespace
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return namespaces
}

// systemPriorityClasses returns the system priority classes.
func systemPriorityClasses() []*schedulingv1.PriorityClass {
	preempt := corev1.PreemptLowerPriority
	return []*schedulingv1.PriorityClass{
		{
			ObjectMeta:       metav1.ObjectMeta{Name: "system-node-critical"},
			Value:            2000001000,
			Description:      "Used for system critical pods that must not be moved from their current node.",
			PreemptionPolicy: &preempt,
		},
		{
			ObjectMeta:       metav1.ObjectMeta{Name: "system-cluster-critical"},
			Value:            2000000000,
			Description:      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
			PreemptionPolicy: &preempt,
		},
	}
}

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
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(c.SecurePort),
			}},
		},
	}
}

func (c Config) endpoints() *corev1.Endpoints {
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault,
			Name:      apiService,
			Labels:    map[string]string{discoveryv1.LabelSkipMirror: "true"},
		},
		Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: c.AdvertiseAddress.String()}},
			Ports:     []corev1.EndpointPort{{Name: "https", Port: c.SecurePort, Protocol: corev1.ProtocolTCP}},
		}},
	}
}

func (c Config) endpointSlice() *discoveryv1.EndpointSlice {
	family := discoveryv1.AddressTypeIPv4
	if c.AdvertiseAddress.Is6() {
		family = discoveryv1.AddressTypeIPv6
	}
	name, port, protocol, ready := "https", c.SecurePort, corev1.ProtocolTCP, true
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault,
			Name:      apiService,
			Labels:    map[string]string{discoveryv1.LabelServiceName: apiService},
		},
		AddressType: family,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{c.AdvertiseAddress.String()},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
}

// authenticationConfigMap returns the ConfigMap that k8s.io/apiserver's delegated authentication reads.
func (c Config) authenticationConfigMap() (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: authenticationConfigMap},
		Data:       map[string]string{},
	}
	if c.ClientCA != nil {
		object.Data["client-ca-file"] = string(c.ClientCA.CurrentCABundleContent())
	}
	if proxy := c.RequestHeader; proxy != nil {
		object.Data["requestheader-client-ca-file"] = string(proxy.CAContentProvider.CurrentCABundleContent())
		for key, values := range map[string][]string{
			"requestheader-username-headers":     proxy.UsernameHeaders.Value(),
			"requestheader-uid-headers":          proxy.UIDHeaders.Value(),
			"requestheader-group-headers":        proxy.GroupHeaders.Value(),
			"requestheader-extra-headers-prefix": proxy.ExtraHeaderPrefixes.Value(),
			"requestheader-allowed-names":        proxy.AllowedClientNames.Value(),
		} {
			// An empty list must not be encoded as null: programs that read the ConfigMap expect a list.
			serialized, err := json.Marshal(append([]string{}, slices.Clone(values)...))
			if err != nil {
				return nil, fmt.Errorf("serialize %s: %w", key, err)
			}
			object.Data[key] = string(serialized)
		}
	}
	return object, nil
}

func tokenTracking(since time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: tokenTrackingConfigMap},
		Data:       map[string]string{"since": since.UTC().Format(time.DateOnly)},
	}
}
