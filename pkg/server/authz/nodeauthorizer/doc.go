// Package nodeauthorizer decides what a kubelet may do (https://kubernetes.io/docs/reference/access-authn-authz/node/). Every
// node has the permissions of the role system:node, with limits for some resources. For example, a node may read only
// the Secrets, ConfigMaps, claims, volumes and accounts that its pods need.
//
// Each request is decided by a search in the caches of shared informers, without an index of references. That is fast
// enough for a few hundred pods, but not for clusters with thousands of nodes.
package nodeauthorizer
