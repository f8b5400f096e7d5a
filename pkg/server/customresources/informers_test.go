package customresources

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// TestHandlersAreCalledInOrder checks that with an external etcd, the informer calls its handlers in the order in
// which they were added, as with an embedded etcd.
func TestHandlersAreCalledInOrder(t *testing.T) {
	t.Parallel()
	client := crdfake.NewClientset()
	definitions := newInformers(true, client, nil, nil).Apiextensions().V1().CustomResourceDefinitions().Informer()
	called := condition.New([]string{})
	const handlers = 5
	for n := range handlers {
		call := func(event string, obj any) {
			called.Update(func(all *[]string) {
				*all = append(slices.Clone(*all), fmt.Sprint(event, " ", obj.(*apiextensionsv1.CustomResourceDefinition).Name, " ", n))
			})
		}
		if _, err := definitions.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { call("add", obj) },
			UpdateFunc: func(_, obj any) { call("update", obj) },
			DeleteFunc: func(obj any) { call("delete", obj) },
		}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { definitions.RunWithContext(ctx) })
	defer running.Wait()
	defer cancel()
	if !cache.WaitFor(ctx, "", definitions.HasSyncedChecker()) {
		t.Fatal("the informer doesn't sync")
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "gears"}}
	want := []string{}
	for _, step := range []struct {
		event string
		do    func() error
	}{
		{"add", func() error { _, err := api.Create(ctx, crd, metav1.CreateOptions{}); return err }},
		{"update", func() error { crd.Generation = 2; _, err := api.Update(ctx, crd, metav1.UpdateOptions{}); return err }},
		{"delete", func() error { return api.Delete(ctx, crd.Name, metav1.DeleteOptions{}) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		for n := range handlers {
			want = append(want, fmt.Sprint(step.event, " gears ", n))
		}
		if err := called.Wait(ctx, func(all []string) bool { return len(all) >= len(want) }); err != nil {
			t.Fatal(err)
		}
	}
	called.Read(func(all []string) {
		if !slices.Equal(all, want) {
			t.Errorf("called were %v, want %v", all, want)
		}
	})
}
