// Package v1alpha1 has what all hooks have in common on the wire, and the hook by which an extension tells which handlers
// it has. The group version is hooks.runtime.cluster.x-k8s.io/v1alpha1, as Cluster API speaks it.
//
// A request embeds CommonRequest. A response embeds CommonResponse, or CommonRetryResponse if its hook is blocking. Don't
// look for hooks of Cluster API here: package clusterapi has those.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
package v1alpha1
