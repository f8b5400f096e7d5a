// Package apiendpoints keeps the endpoints of the service "kubernetes" for servers that share an external etcd: they are
// the addresses of all live servers. Each server has a lease in the etcd, in the form of kube-apiserver's, so servers of
// both kinds can share an etcd. A server with an embedded etcd is alone, and writes its endpoints once.
//
// [New] is the constructor.
package apiendpoints
