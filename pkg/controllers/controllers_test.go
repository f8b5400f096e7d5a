package controllers_test

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
)

// silent is a source that never reports that its objects are complete.
type silent struct{}

func (silent) Follow(context.Context, objects.Handler, func()) {}
func (silent) Settle(context.Context) error                    { return nil }

// If controllers are closed before they have received all objects, none of their goroutines is left. synctest.Test
// fails if a goroutine is left.
func TestCloseBeforeObjectsAreComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := controllers.New(t.Context(), controllers.Selection{"serviceaccount-token-controller"}, controllers.Environment{
			ConfigOf:  func(string) *rest.Config { return &rest.Config{} },
			Informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
			Objects:   silent{},
			Elsewhere: func() func(served.Resource) bool { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Start(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		set.Close()
	})
}
