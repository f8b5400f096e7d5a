// Package aggregation serves the APIs of other servers. An APIService (apiregistration.k8s.io) names such a server.
// The package passes requests on to these servers, with the name and the groups of the user. It adds the APIs to
// discovery and to the OpenAPI specs, and reports in the status of each APIService whether its server answers. When a
// client requests APIServices, the package also writes APIServices for the group versions of this server itself. [New] is
// the constructor.
//
// The library k8s.io/kube-aggregator does the same in a server of its own, with a dozen controllers. In this package,
// only the informer of APIServices runs until an APIService names another server. From then on, the library's discovery
// manager runs, and one goroutine for each such APIService checks the server. To add kinds to this server itself, use
// package registry or a CustomResourceDefinition.
package aggregation
