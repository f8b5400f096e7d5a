// Package aggregation serves the APIs of other servers, as APIServices (apiregistration.k8s.io) name
// them: it proxies their requests with the identity of who asks, adds them to discovery and to the
// OpenAPI specs, and says in the status of each APIService whether its server answers. It also keeps an
// APIService for every group version that this server has itself.
//
// It does what k8s.io/kube-aggregator does around an API server, which is a server of its own with a
// dozen controllers. Here nothing runs until an APIService names another server; then the library's
// discovery manager does, and a check for each APIService. To serve kinds of this
// server's own, use package registry, or a CustomResourceDefinition.
package aggregation
