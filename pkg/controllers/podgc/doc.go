// Package podgc is the controller pod-garbage-collector-controller: it deletes pods that no kubelet deletes.
//
// [New] is the way in. The rules are those of kube-controller-manager, with one more: a pod that is being deleted is
// deleted for good after its grace period if its node has no kubelet, as the nodes have that tests and users create.
package podgc
