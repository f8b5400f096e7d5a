package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ReplicationController sets the defaults of a ReplicationController: selector and
// labels are those of its template.
func ReplicationController(rc *corev1.ReplicationController) {
	Pointer(&rc.Spec.Replicas, 1)
	if t := rc.Spec.Template; t != nil {
		if t.Labels != nil && len(rc.Spec.Selector) == 0 {
			rc.Spec.Selector = t.Labels
		}
		LabelsOf(t.Labels, &rc.Labels)
		PodTemplateSpec(t)
	}
}

// Service sets the defaults of a Service. Cluster IPs, IP families and node ports
// are the allocators' work.
func Service(s *corev1.Service) {
	spec := &s.Spec
	Zero(&spec.Type, corev1.ServiceTypeClusterIP)
	sessionAffinity(spec)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		Zero(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == (intstr.IntOrString{}) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}

	var internal, external bool
	switch spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		internal, external = true, true
	case corev1.ServiceTypeClusterIP:
		internal, external = true, len(spec.ExternalIPs) > 0
	}
	if internal {
		Pointer(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if external {
		Zero(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		Pointer(&spec.AllocateLoadBalancerNodePorts, true)
		for i := range s.Status.LoadBalancer.Ingress {
			if ingress := &s.Status.LoadBalancer.Ingress[i]; ingress.IP != "" {
				Pointer(&ingress.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		}
	}
}

func sessionAffinity(spec *corev1.ServiceSpec) {
	Zero(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		Pointer(&spec.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		Pointer(&spec.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		Pointer(&spec.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
}

// Endpoints sets the defaults of Endpoints.
func Endpoints(e *corev1.Endpoints) {
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			Zero(&e.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

// Secret sets the defaults of a Secret; stringData, which is never stored, goes
// over data.
func Secret(s *corev1.Secret) {
	Zero(&s.Type, corev1.SecretTypeOpaque)
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, value := range s.StringData {
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}

// Namespace sets the defaults of a Namespace. One whose name is still to be
// generated gets its label when it has a name.
func Namespace(n *corev1.Namespace) {
	Zero(&n.Status.Phase, corev1.NamespaceActive)
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = make(map[string]string, 1)
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

// Node sets the defaults of a Node: what isn't said to be reserved is allocatable.
func Node(n *corev1.Node) {
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	ResourceList(n.Status.Capacity)
	ResourceList(n.Status.Allocatable)

	// podCIDR is the first of podCIDRs; a client that knows podCIDR alone decides.
	switch s := &n.Spec; {
	case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
		s.PodCIDRs = []string{s.PodCIDR}
	case len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	}
}

// LimitRange sets the defaults of a LimitRange. For containers, the default limit
// is the maximum, and the default request the default limit or else the minimum.
func LimitRange(l *corev1.LimitRange) {
	all := func(corev1.ResourceName) bool { return true }
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		if item.Type == corev1.LimitTypeContainer {
			if item.Default == nil {
				item.Default = corev1.ResourceList{}
			}
			if item.DefaultRequest == nil {
				item.DefaultRequest = corev1.ResourceList{}
			}
			addMissing(item.Default, item.Max, all)
			addMissing(item.DefaultRequest, item.Default, all)
			addMissing(item.DefaultRequest, item.Min, all)
		}
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			ResourceList(list)
		}
	}
}

// ResourceQuota sets the defaults of a ResourceQuota.
func ResourceQuota(q *corev1.ResourceQuota) {
	for _, list := range []corev1.ResourceList{q.Spec.Hard, q.Status.Hard, q.Status.Used} {
		ResourceList(list)
	}
}
