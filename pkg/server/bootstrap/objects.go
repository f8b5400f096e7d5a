package bootstrap

import (
	"cmp"
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
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/miniapi-dev/miniapi/pkg/controllers/clusterroles"
)

// Config has the server settings that determine the content of the bootstrap objects.
type Config struct {
	// ServiceCIDRs are one or two ranges of service addresses. Two ranges are of different IP families, and the primary
	// range comes first.
	ServiceCIDRs []netip.Prefix
	// SecurePort is the port that the server listens on.
	SecurePort int32
	// Endpoints are the addresses of servers in the endpoints of the Service, all of one IP family. Without an address,
	// Ensure leaves the endpoints alone. A server sets no address if clients on other machines can't reach the server, or
	// if --endpoint-reconciler-type is none.
	Endpoints []netip.Addr
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
	// StorageClass is a StorageClass that the cluster has, or nil.
	StorageClass *storagev1.StorageClass
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

func (c Config) hasStorageClass() bool { return c.StorageClass != nil && c.served(storageClasses...) }

// --runtime-config can turn these resources off. If a resource in one of these lists is off, the server creates no
// objects of that list. All other objects of this package are in the core group.
var (
	rbacResources        = resourcesOf(rbacv1.SchemeGroupVersion, "clusterroles", "clusterrolebindings", "roles", "rolebindings")
	priorityClasses      = resourcesOf(schedulingv1.SchemeGroupVersion, "priorityclasses")
	flowControlResources = resourcesOf(flowcontrolv1.SchemeGroupVersion, "prioritylevelconfigurations", "flowschemas")
	storageClasses       = resourcesOf(storagev1.SchemeGroupVersion, "storageclasses")
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
	if config.hasStorageClass() {
		objects = append(objects, config.StorageClass)
	}
	objects = append(objects, trust, tokenTracking(time.Now()))
	if config.hasService() {
		objects = append(objects, config.serviceCIDR())
	}
	if len(config.Endpoints) > 0 {
		objects = append(objects, config.endpoints())
		if config.served(endpointSlices...) {
			objects = append(objects, config.endpointSlice())
		}
	}
	return objects, nil
}

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
