package controllers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
)

func newSet(t *testing.T, components ...controllers.Component) (*controllers.Set, error) {
	t.Helper()
	set, err := controllers.New(t.Context(), nil, controllers.Environment{
		ConfigOf:   func(string) *rest.Config { return &rest.Config{} },
		Informers:  informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		Components: components,
	})
	if err == nil {
		t.Cleanup(set.Close)
	}
	return set, err
}

// The work of a component begins when the set starts, pauses while the set is held, and goes on when the component
// knows the objects of a restored snapshot.
func TestComponentWorksWithTheControllers(t *testing.T) {
	t.Parallel()
	restored := make(chan struct{}, 1)
	worked := make(chan struct{})
	set, err := newSet(t, controllers.Component{Name: "scheduler", Add: func(h *controllers.Host) error {
		h.OnRestore(func() { restored <- struct{}{} })
		h.Runner.Go(func() {
			if h.Runner.Do(h.Runner.Life(), func(context.Context) error { return nil }) == nil {
				close(worked)
			}
		})
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-worked:
		t.Fatal("the component works before the start")
	default:
	}
	if err := set.Start(); err != nil {
		t.Fatal(err)
	}
	<-worked
	if err := set.Hold()(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-restored
}

func TestComponentThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such profile")
	_, err := newSet(t, controllers.Component{Name: "scheduler", Add: func(*controllers.Host) error { return broken }})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "scheduler: ") {
		t.Errorf("want the component's error with its name, got %v", err)
	}
}
