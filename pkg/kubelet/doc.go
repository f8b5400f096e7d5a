// Package kubelet has nodes whose kubelets only pretend to run containers. Their pods go through stages (see package
// stages), and by default become ready at once.
//
// [New] makes the kubelets of a server, and [Kubelets.Component] the component that runs them with the server's
// controllers. Besides the nodes that it registers, it runs the kubelet of each node with the annotation [Managed].
// Don't use the package for pods whose containers must run.
package kubelet
