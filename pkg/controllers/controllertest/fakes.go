// Package controllertest has fakes for tests of controllers: informers that don't run, the run of a controller over a
// fake client, and the list of such a client's writes.
//
// Use it to test the decisions of one controller. The tests in test/integration run controllers against a server.
package controllertest

import (
	"path"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// Informer returns an informer whose store has the objects. It doesn't run, and calls no handler.
func Informer[T runtime.Object](objects ...T) (cache.SharedIndexInformer, error) {
	var example T
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, object := range objects {
		if err := informer.GetStore().Add(object); err != nil {
			return nil, err
		}
	}
	return informer, nil
}

// Writes returns the requests of a fake client that write, each in the form VERB RESOURCE[/SUBRESOURCE]
// NAMESPACE/NAME.
func Writes(actions []clienttesting.Action) (writes []string) {
	for _, action := range actions {
		switch action.GetVerb() {
		case "get", "list", "watch":
			continue
		}
		var name string
		switch action := action.(type) {
		case clienttesting.CreateAction: // an update implements this interface too
			if object, ok := action.GetObject().(interface{ GetName() string }); ok {
				name = object.GetName()
			}
		case clienttesting.DeleteAction:
			name = action.GetName()
		case clienttesting.PatchAction:
			name = action.GetName()
		}
		writes = append(writes, action.GetVerb()+" "+path.Join(action.GetResource().Resource, action.GetSubresource())+" "+path.Join(action.GetNamespace(), name))
	}
	return writes
}
