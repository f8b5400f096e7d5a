package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	baseversion "k8s.io/component-base/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
)

// kubernetesVersion is the version of the scheduler.
var kubernetesVersion = version.MustParse(baseversion.DefaultKubeBinaryVersion)

// requiredFeatures returns the features that the node of a pod must declare.
func requiredFeatures(pod *podInfo) (nodedeclaredfeatures.FeatureSet, error) {
	return nodedeclaredfeatures.DefaultFramework.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec}, kubernetesVersion)
}

// refuseUndeclared refuses the nodes that don't declare a feature that the pod needs.
func refuseUndeclared(c *cycle) (filter, *refusal) {
	required, err := requiredFeatures(c.pod)
	if err != nil || required.IsEmpty() { // there is no error for a known version
		return nil, nil
	}
	undeclared := &refusal{reasons: []string{"node(s) didn't match Pod's required features"}, final: true}
	return func(n *node) *refusal {
		declared := nodedeclaredfeatures.DefaultFramework.TryMap(n.Status.DeclaredFeatures)
		if all, err := required.IsSubset(declared); err != nil || !all {
			return undeclared
		}
		return nil
	}, nil
}

func featuresAfterNode(_ *podInfo, before, after *corev1.Node) bool {
	return after != nil && (before == nil || !slices.Equal(before.Status.DeclaredFeatures, after.Status.DeclaredFeatures))
}

func featuresAfterItself(before, after *podInfo) bool {
	was, err := requiredFeatures(before)
	is, errAfter := requiredFeatures(after)
	return err == nil && errAfter == nil && !is.Equal(was)
}
