package controllertest

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Start runs a controller over a fake client until the test ends. The function add makes the controller; its work begins
// when the informers have the objects of the client and watch them. A fake client has no resource versions, so an informer
// misses what is written between its list and its watch.
func Start(t *testing.T, client *fake.Clientset, add func(*work.Runner, informers.SharedInformerFactory) error) {
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
	watches := make(chan struct{})
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		watched, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		go func() {
			select {
			case watches <- struct{}{}:
			case <-t.Context().Done():
			}
		}()
		return true, watched, err
	})
	factory.StartWithContext(t.Context())
	for range factory.WaitForCacheSync(t.Context().Done()) {
		select {
		case <-watches:
		case <-t.Context().Done():
			t.Fatal("the test ended before all informers had a watch")
		}
	}
	open()
}
