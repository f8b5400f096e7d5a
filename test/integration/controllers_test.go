package integration_test

import (
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// withControllers returns an option that runs controllers in the server.
func withControllers(selection ...string) miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) { o.Controllers = controllers.Selection(selection) })
}
