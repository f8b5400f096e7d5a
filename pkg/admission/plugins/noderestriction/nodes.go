package noderestriction

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// node lets a kubelet write its own node, with limits: the kubelet can't set a configSource or a forbidden label, and
// an update can't change the taints or the owner references.
func node(node string, a admission.Attributes) error {
	if a.GetName() != node {
		return fmt.Errorf("node %q is not allowed to modify node %q", node, a.GetName())
	}
	if a.GetOperation() == admission.Delete {
		return nil
	}
	object, ok := a.GetObject().(*corev1.Node)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	if a.GetOperation() == admission.Create {
		if object.Spec.ConfigSource != nil {
			return fmt.Errorf("node %q is not allowed to create pods with a non-nil configSource", node)
		}
		if forbidden := forbiddenLabels(object.Labels, nil); len(forbidden) > 0 {
			return fmt.Errorf("node %q is not allowed to set the following labels: %s", node, strings.Join(forbidden, ", "))
		}
		return nil
	}

	old, ok := a.GetOldObject().(*corev1.Node)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetOldObject())
	}
	if object.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(object.Spec.ConfigSource, old.Spec.ConfigSource) {
		return fmt.Errorf("node %q is not allowed to update configSource to a new non-nil configSource", node)
	}
	if !equality.Semantic.DeepEqual(object.Spec.Taints, old.Spec.Taints) {
		return fmt.Errorf("node %q is not allowed to modify taints", node)
	}
	// A kubelet has no permission to delete its node. If it could set an owner reference to a missing object, the
	// garbage collector would delete the node.
	if !equality.Semantic.DeepEqual(object.OwnerReferences, old.OwnerReferences) {
		return fmt.Errorf("node %q is not allowed to modify ownerReferences", node)
	}
	if forbidden := forbiddenLabels(object.Labels, old.Labels); len(forbidden) > 0 {
		return fmt.Errorf("is not allowed to modify labels: %s", strings.Join(forbidden, ", "))
	}
	return nil
}

// forbiddenLabels returns the sorted keys of changed labels that a kubelet may not set. These are the labels
// reserved for administrators, and labels of Kubernetes that kubelets don't use.
func forbiddenLabels(labels, old map[string]string) []string {
	var forbidden []string
	check := func(key string) {
		domain, _, qualified := strings.Cut(key, "/")
		if !qualified {
			return
		}
		ofKubernetes := within(domain, "kubernetes.io") || within(domain, "k8s.io")
		if within(domain, corev1.LabelNamespaceNodeRestriction) || ofKubernetes && !kubeletapis.IsKubeletLabel(key) {
			forbidden = append(forbidden, key)
		}
	}
	for key, value := range labels {
		if was, ok := old[key]; !ok || was != value {
			check(key)
		}
	}
	for key := range old {
		if _, ok := labels[key]; !ok {
			check(key)
		}
	}
	slices.Sort(forbidden)
	return forbidden
}

func within(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }
