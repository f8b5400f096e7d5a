// Package podgc is the controller pod-garbage-collector-controller: it deletes pods that no kubelet deletes.
//
// [New] starts the controller. The rules are the same as in kube-controller-manager, with one addition: if a pod
// is deleted and its node has no kubelet, the pod is removed when its grace period is over. Nodes that tests or
// users create have no kubelet.
package podgc
