package warnings

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LoadBalancerPath is where services and ingresses have the addresses of their load balancers.
var LoadBalancerPath = field.NewPath("status", "loadBalancer", "ingress")

// Where workloads have their spec and their template of pods.
var (
	SpecPath     = field.NewPath("spec")
	TemplatePath = SpecPath.Child("template")
)

// Changed says whether there is anything new to warn of in a template: metadata and
// status change often, and don't count into the generation.
func Changed(obj, old metav1.Object) bool { return obj.GetGeneration() != old.GetGeneration() }
