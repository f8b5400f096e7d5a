package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	baseversion "k8s.io/component-base/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
)

// features infers the features of a kubelet that pods need, and maps those that nodes declare.
var features = nodedeclaredfeatures.DefaultFramework

// kubernetesVersion is the version of the scheduler.
var kubernetesVersion = version.MustParse(baseversion.DefaultKubeBinaryVersion)

// requiredFeatures returns the features that the node of a pod must declare.
func requiredFeatures(pod *podInfo) (nodedeclaredfeatures.FeatureSet, error) {
	return features.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec}, kubernetesVersion)
}

// refuseUndeclared refuses the nodes that don't declare a feature that the pod needs.
func refuseUndeclared(c *cycle) (filter, *refusal) {
	required, err := requiredFeatures(c.pod)
	if err != nil || required.IsEmpty() { // there is no error for a known version
		return nil, nil
	}
	undeclared := &refusal{reasons: []string{"node(s) didn't match Pod's required features"}, final: true}
	return func(n *node) *refusal {
		if declared, err := required.IsSubset(features.TryMap(n.Status.DeclaredFeatures)); err != nil || !declared {
			return undeclared
		}
		return nil
	}, nil
}

func featuresAfterNode(_ *podInfo, before, after *corev1.Node) bool {
	return after != nil && (before == nil || !slices.Equal(before.Status.DeclaredFeatures, after.Status.DeclaredFeatures))
}
