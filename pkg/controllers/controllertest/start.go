package controllertest

import (
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Start runs a controller over a fake client until the test ends. The function add makes the controller; its work begins
// when the informers have the objects of the client.
func Start(t *testing.T, client kubernetes.Interface, add func(*work.Runner, informers.SharedInformerFactory) error) {
	t.Helper()
	runner, factory := work.NewRunner(t.Context()), informers.NewSharedInformerFactory(client, 0)
	t.Cleanup(func() {
		runner.Close()
		factory.Shutdown()
	})
	if err := add(runner, factory); err != nil {
		t.Fatal(err)
	}
	open, err := runner.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSyncWithContext(t.Context())
	open()
}
