// Package peers lets servers that share an external etcd serve the resources of one another (KEP-4020, unknown version
// interoperability proxy). A server that lacks the resource of a request passes the request on to a server that has it,
// and aggregated discovery lists the resources of all servers. Each server has a Lease in namespace kube-system
// (KEP-1965) and an address in etcd. The servers find one another by these Leases and addresses. Peers are useful if
// the servers differ in their version or in --runtime-config. A server with an embedded etcd has no peers.
//
// [New] is the constructor, and [Options] are the flags.
package peers
