package warnings

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LoadBalancerPath is the path of the load balancer's addresses in a service or an ingress.
var LoadBalancerPath = field.NewPath("status", "loadBalancer", "ingress")

// The paths of the spec and of the pod template of a workload.
var (
	SpecPath     = field.NewPath("spec")
	TemplatePath = SpecPath.Child("template")
)

// Changed reports whether the pod template of a workload may have changed. It compares the generations. Most
// updates change only the metadata or the status, and don't increase the generation.
func Changed(obj, old metav1.Object) bool { return obj.GetGeneration() != old.GetGeneration() }
