// Package peers lets servers that share an external etcd serve the resources of one another: a server that lacks
// the resource of a request passes the request on to one that has it, and aggregated discovery lists the resources
// of all (KEP-4020, unknown version interoperability proxy). The servers know one another by Leases in namespace
// kube-system (KEP-1965), and find one another by addresses in etcd. Servers that differ in --runtime-config, or in
// their version, need it. A server with an embedded etcd has no peers.
package peers
