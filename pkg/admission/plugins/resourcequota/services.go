package resourcequota

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

const serviceObjects = corev1.ResourceName("count/services")

// services returns the rules for services. A quota counts services, load balancers and node ports. The node ports
// aren't allocated yet during admission, so the rules count the node ports that the service will get.
func services() rules {
	return rules{
		counts: func(name corev1.ResourceName) bool {
			switch name {
			case serviceObjects, corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
				return true
			}
			return false
		},
		// An update can change the type of the service, and with it the usage.
		handles: func(a admission.Attributes) bool {
			return a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update)
		},
		usage: func(object runtime.Object) (corev1.ResourceList, error) {
			service, err := as[*corev1.Service](object)
			if err != nil {
				return nil, err
			}
			nodePorts, loadBalancers := 0, 0
			switch service.Spec.Type {
			case corev1.ServiceTypeNodePort:
				nodePorts = len(service.Spec.Ports)
			case corev1.ServiceTypeLoadBalancer:
				nodePorts, loadBalancers = len(service.Spec.Ports), 1
				if allocate := service.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
					nodePorts = explicitNodePorts(service)
				}
			}
			return corev1.ResourceList{
				serviceObjects:                       *one(),
				corev1.ResourceServices:              *one(),
				corev1.ResourceServicesNodePorts:     *resource.NewQuantity(int64(nodePorts), resource.DecimalSI),
				corev1.ResourceServicesLoadBalancers: *resource.NewQuantity(int64(loadBalancers), resource.DecimalSI),
			}, nil
		},
	}
}

func explicitNodePorts(service *corev1.Service) int {
	count := 0
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			count++
		}
	}
	return count
}
