// Package node decides what a kubelet may do
// (https://kubernetes.io/docs/reference/access-authn-authz/node/): what every node may, and beyond that to read
// the Secrets, ConfigMaps, claims, volumes and accounts that the pods bound to it refer to.
//
// It answers from the caches of shared informers at each request, without an index of who refers to what: it
// is for servers with a few hundred pods, not for clusters with thousands of nodes.
package node
