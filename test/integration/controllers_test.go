package integration_test

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// withControllers returns an option that runs controllers in the server.
func withControllers(selection ...string) miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) { o.Controllers = controllers.Selection(selection) })
}

// gone waits until get returns the error that the object doesn't exist. The text what names the object.
func gone[Object any](t *testing.T, what string, get func(context.Context) (Object, error)) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if found, err := get(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("want %s to be gone, got %v, %w", what, found, err)
		}
		return nil
	})
}
