// Package podgc is the controller pod-garbage-collector-controller: it deletes pods that no kubelet deletes.
//
// [New] is the way in. The rules are those of kube-controller-manager, with one more: if the node of a deleted pod has
// no kubelet, the pod is gone after its grace period. Nodes that tests and users create have no kubelet.
package podgc
