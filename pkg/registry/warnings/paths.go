package warnings

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LoadBalancerPath is the path of load balancers' addresses in services and ingresses.
var LoadBalancerPath = field.NewPath("status", "loadBalancer", "ingress")

// These are the paths of a workload's spec and pod template.
var (
	SpecPath     = field.NewPath("spec")
	TemplatePath = SpecPath.Child("template")
)

// Changed tells whether the spec of a template may have changed, by the generation. Frequent changes of metadata and
// status don't change the generation.
func Changed(obj, old metav1.Object) bool { return obj.GetGeneration() != old.GetGeneration() }
