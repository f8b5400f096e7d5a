package trial

import "strings"

// Resource is a resource in a version, or a subresource of it.
type Resource struct {
	Group, Version, Name, Kind string
	// Subresource is "" for the resource itself.
	Subresource string
	Namespaced  bool
	// KindGroup and KindVersion are the group and the version of the kind, if they differ from the group and the
	// version of the resource. The kind of a scale is in autoscaling/v1, for example.
	KindGroup, KindVersion string
	Verbs                  []string

	namespace string
}

// The resources that cases use. Server.Resources has all resources of a server.
var (
	ConfigMaps      = Resource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true}
	Secrets         = Resource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true}
	ServiceAccounts = Resource{Version: "v1", Name: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
	Services        = Resource{Version: "v1", Name: "services", Kind: "Service", Namespaced: true}
	EndpointSlices  = Resource{Group: "discovery.k8s.io", Version: "v1", Name: "endpointslices", Kind: "EndpointSlice", Namespaced: true}
	Pods            = Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	Namespaces      = Resource{Version: "v1", Name: "namespaces", Kind: "Namespace"}
	Deployments     = Resource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true}
	HPAsV1          = Resource{Group: "autoscaling", Version: "v1", Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}
	HPAsV2          = Resource{Group: "autoscaling", Version: "v2", Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}
	ClusterRoles    = Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "clusterroles", Kind: "ClusterRole"}
	Definitions     = Resource{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
	SelfReviews     = Resource{Group: "authentication.k8s.io", Version: "v1", Name: "selfsubjectreviews", Kind: "SelfSubjectReview"}
	AccessReviews   = Resource{Group: "authorization.k8s.io", Version: "v1", Name: "selfsubjectaccessreviews", Kind: "SelfSubjectAccessReview"}

	MutatingConfigurations   = registration("mutatingwebhookconfigurations", "MutatingWebhookConfiguration")
	ValidatingConfigurations = registration("validatingwebhookconfigurations", "ValidatingWebhookConfiguration")
	Policies                 = registration("validatingadmissionpolicies", "ValidatingAdmissionPolicy")
	Bindings                 = registration("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding")
	MutatingPolicies         = registration("mutatingadmissionpolicies", "MutatingAdmissionPolicy")
	MutatingBindings         = registration("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding")
)

func registration(name, kind string) Resource {
	return Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: name, Kind: kind}
}

// Sub returns a subresource.
func (r Resource) Sub(name string) Resource {
	r.Subresource = name
	return r
}

// In returns the resource in a namespace, in place of the case's namespace.
func (r Resource) In(namespace string) Resource {
	r.namespace = namespace
	return r
}

// GroupVersion returns the apiVersion of the resource.
func (r Resource) GroupVersion() string { return groupVersion(r.Group, r.Version) }

func groupVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// KindGroupVersion returns the apiVersion of the resource's kind.
func (r Resource) KindGroupVersion() string {
	if r.KindVersion == "" {
		return r.GroupVersion()
	}
	return groupVersion(r.KindGroup, r.KindVersion)
}

// String returns the group version and the name, such as "apps/v1 deployments/scale".
func (r Resource) String() string {
	name := r.Name
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return r.GroupVersion() + " " + name
}

// path returns the path of an object. If the name is "", it is the path of the collection.
func (r Resource) path(namespace, name string) string {
	parts := []string{"/apis", r.Group, r.Version}
	if r.Group == "" {
		parts = []string{"/api", r.Version}
	}
	if r.Namespaced && namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	parts = append(parts, r.Name)
	if name != "" {
		parts = append(parts, name)
	}
	if r.Subresource != "" {
		parts = append(parts, r.Subresource)
	}
	return strings.Join(parts, "/")
}
