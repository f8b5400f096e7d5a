package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/logging"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/authz"
)

// temporaryServer is a server for the time of one command that needs admission or the API and no stored objects. It listens on a free port, serves every version of every API, and
// allows every request.
type temporaryServer struct {
	// controllers are the controllers that run.
	controllers controllers.Selection
	// change, if set, changes the other options.
	change func(*server.Options)
	// objects are applied before the command's work begins.
	objects []manifests.Object
}

// do runs the server until the function work returns. A signal ends the server and the context of work. If work hasn't
// succeeded by then, do returns an error.
func (d temporaryServer) do(ctx context.Context, errOut io.Writer, work func(context.Context, *rest.Config) error) error {
	return d.run(ctx, errOut, func(ctx context.Context, s *server.Server) error {
		applier := manifests.Applier{Config: s.AdminConfig()}
		if err := applier.Apply(ctx, d.objects); err != nil {
			return fmt.Errorf("applying objects to the temporary server: %w", err)
		}
		config := s.AdminConfig()
		config.QPS = -1
		return work(ctx, config)
	})
}

// run is do without the objects, for work that needs the server itself.
func (d temporaryServer) run(ctx context.Context, errOut io.Writer, work func(context.Context, *server.Server) error) error {
	run := launch.NewOptions(server.NewOptions())
	run.Server.Controllers = d.controllers
	run.Server.Serving.BindPort = 0
	run.Server.Authorization.Modes = []string{authz.ModeAlwaysAllow}
	run.Server.APIs.RuntimeConfig = map[string]string{"api/all": "true", "api/legacy": "true"}
	run.Server.FeatureGates = map[string]bool{"GenericWorkload": true} // workloads and groups of pods need it
	if d.change != nil {
		d.change(run.Server)
	}
	if err := run.Begin(errOut, &logging.Quiet{To: errOut}); err != nil {
		return err
	}
	ctx, cancel := launch.UntilSignal(ctx)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	defer stop()
	worked := false
	err := run.Run(running, errOut, func(ctx context.Context, s *server.Server) error {
		defer stop()
		err := work(ctx, s)
		worked = err == nil
		return err
	})
	if err == nil && !worked {
		err = errors.New("a signal has interrupted the command: run the command again")
	}
	return err
}
