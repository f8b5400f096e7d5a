package controllers

import (
	"context"
	"net"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Component is a program of a cluster that works with the controllers, such as a scheduler or a kubelet.
type Component struct {
	// Name is the name of the component in errors.
	Name string
	// Add makes the component. Its work begins with that of the controllers.
	Add func(*Host) error
	// Paths are paths that the server serves for the component, to users with permission for these nonResourceURLs.
	Paths map[string]http.Handler
	// DialNode connects to the kubelet of a node, by an address that the node has. It returns false if the component
	// doesn't run this kubelet. DialNode may be nil.
	DialNode func(ctx context.Context, address string) (net.Conn, bool, error)
	// Route returns the address at which this machine reaches a port of a pod, by the pod's address and the port. It returns
	// the address itself if the component doesn't have this pod, and an error if nothing listens there. Route may be nil.
	Route func(address string) (string, error)
}

// Host is what a component gets from its server.
type Host struct {
	// Runner runs the work of the component.
	Runner *work.Runner
	// ConfigOf returns the client configuration of a user, such as "system:kube-scheduler". Users with names of service
	// accounts and of nodes are in the groups of these.
	ConfigOf func(user string) *rest.Config
	// Informers are shared with the server and the controllers. The server starts them after Add.
	Informers informers.SharedInformerFactory
	// Discovery lists the served resources, and Mapper maps their kinds.
	Discovery discovery.DiscoveryInterface
	Mapper    meta.RESTMapper
	// Address is the host and port at which programs of this machine reach the server.
	Address string

	set *Set
}

// OnRestore registers a function that is called when the informers know the objects of a restored snapshot, before the
// work goes on. Objects that were deleted may be back, with their former UIDs and resource versions.
func (h *Host) OnRestore(forget func()) { h.set.forget = append(h.set.forget, forget) }

// OnLoss registers a function that is called when another server may do the work of this one. Until the function returns,
// this server doesn't give up its Lease. It has to return within the 3 seconds before a Lease expires that couldn't be
// renewed. The work is held meanwhile.
func (h *Host) OnLoss(end func()) { h.set.lost = append(h.set.lost, end) }

// OnResourcesChange registers a function that is called when the served resources have changed.
func (h *Host) OnResourcesChange(changed func()) { h.set.resources.OnChange(changed) }

func (s *Set) add(c Component) error {
	return c.Add(&Host{
		Runner: s.runner, ConfigOf: s.env.ConfigOf, Informers: s.env.Informers, Discovery: s.env.Discovery, Mapper: s.env.Mapper,
		Address: s.env.Address, set: s,
	})
}
