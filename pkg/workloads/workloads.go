// Package workloads has what a server needs so that workloads become ready: the controllers of workloads, a scheduler,
// and kubelets whose pods only pretend to run.
//
// [New] makes it from [Options], and [Workloads.AddTo] adds it to the options of a server. The server's program pays for
// its size, so package server doesn't import it.
package workloads

import (
	"context"
	"fmt"
	"net"
	"os/user"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/kubelet"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/stages"
	"github.com/miniapi-dev/miniapi/pkg/scheduler"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// Options configure workloads.
type Options struct {
	// Nodes is the number of nodes that the kubelets register.
	Nodes int
	// Stages are the values of the flag --stages (see stages.Parse).
	Stages []string
	// Runtime runs the containers that don't only pretend to run. Without it, all of them pretend.
	Runtime kubelet.Runtime
}

// NewOptions returns the defaults.
func NewOptions() Options { return Options{Nodes: 1} }

// Workloads are the workloads of one server.
type Workloads struct{ kubelets *kubelet.Kubelets }

// New returns the workloads of one server. Its errors name the flags.
func New(ctx context.Context, o Options) (*Workloads, error) {
	if o.Nodes < 0 || o.Nodes > kubelet.MaxNodes {
		return nil, fmt.Errorf("--nodes %d: must be from 0 to %d", o.Nodes, kubelet.MaxNodes)
	}
	chosen, err := stages.Parse(ctx, o.Stages)
	if err != nil {
		return nil, fmt.Errorf("--stages: %w", err)
	}
	kubernetes, _, _ := strings.Cut(version.Get().GitVersion, "+")
	return &Workloads{kubelet.New(kubelet.Options{Nodes: o.Nodes, Stages: chosen, Runtime: o.Runtime, Version: kubernetes})}, nil
}

// Warning says who runs commands if the containers of a server run that listens on an address. It is "" if only programs of
// this machine reach the server.
func Warning(address net.IP) string {
	if address.IsLoopback() {
		return ""
	}
	name := "this user"
	if own, err := user.Current(); err == nil {
		name = "the user " + own.Username
	}
	return fmt.Sprintf("pods run as processes: clients that reach %s and may create pods run commands on this machine as %s", address, name)
}

// AddTo adds the workloads to the options of their server.
func (w *Workloads) AddTo(o *server.Options) {
	o.Controllers = append(o.Controllers, controllers.Workloads)
	o.Components = append(o.Components, scheduler.Component, w.kubelets.Component())
}
