// Package disposable runs a server for the time of one command, for commands that need admission or the API and no
// stored objects. [Server] is the way in. Don't use the package for a server that other programs use, because the server
// allows every request.
package disposable

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
	"github.com/miniapi-dev/miniapi/pkg/server/authorization"
)

// Server is a server for the time of one command. It listens on a free port, serves every version of every API, and
// allows every request.
type Server struct {
	// Controllers are the controllers that run.
	Controllers controllers.Selection
	// Objects are applied before the command's work begins.
	Objects []manifests.Object
}

// Do runs the server until the function work returns. A signal ends the server and the context of work. If work hasn't
// succeeded by then, Do returns an error.
func (d Server) Do(ctx context.Context, errOut io.Writer, work func(context.Context, *rest.Config) error) error {
	run := launch.NewOptions(server.NewOptions())
	run.Server.Controllers = d.Controllers
	run.Server.Serving.BindPort = 0
	run.Server.Authorization.Modes = []string{authorization.ModeAlwaysAllow}
	run.Server.APIs.RuntimeConfig = map[string]string{"api/all": "true", "api/legacy": "true"}
	run.Server.FeatureGates = map[string]bool{"GenericWorkload": true} // workloads and groups of pods need it
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
		applier := manifests.Applier{Config: s.AdminConfig()}
		if err := applier.Apply(ctx, d.Objects); err != nil {
			return fmt.Errorf("applying objects to the temporary server: %w", err)
		}
		config := s.AdminConfig()
		config.QPS = -1
		err := work(ctx, config)
		worked = err == nil
		return err
	})
	if err == nil && !worked {
		err = errors.New("a signal has interrupted the command: run the command again")
	}
	return err
}
