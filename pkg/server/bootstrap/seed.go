package bootstrap

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// seeders is how many creates are under way at once. Each mostly waits for the store, which joins them.
const seeders = 32

// Seed creates, in a cluster that has nothing yet, everything that [SeedServices] doesn't. The given function
// is to keep an object's status, and to leave the object as it is. One that knows a short way to the store
// saves the better part of a server's start, which [Ensure] is otherwise.
func Seed(ctx context.Context, create func(context.Context, runtime.Object) error, config Config) error {
	objects, err := Objects(config)
	if err != nil {
		return err
	}
	// What is namespaced needs its namespace.
	var namespaces, others []runtime.Object
	for _, object := range objects {
		switch object.(type) {
		case *corev1.Namespace:
			namespaces = append(namespaces, object)
		case *corev1.Service:
		default:
			others = append(others, object)
		}
	}
	for _, step := range [][]runtime.Object{namespaces, others} {
		if err := inParallel(ctx, step, create); err != nil {
			return err
		}
	}
	return nil
}

// SeedServices creates the Services after [Seed], in a server that knows the ranges of their addresses.
func SeedServices(ctx context.Context, create func(context.Context, runtime.Object) error, config Config) error {
	if !config.hasService() {
		return nil
	}
	return inParallel(ctx, []runtime.Object{config.service()}, create)
}

// inParallel creates objects by few goroutines: a new one for each would grow its stack first.
func inParallel(ctx context.Context, objects []runtime.Object, create func(context.Context, runtime.Object) error) error {
	left := make(chan runtime.Object, len(objects))
	for _, object := range objects {
		left <- object
	}
	close(left)
	group, ctx := errgroup.WithContext(ctx)
	for range min(seeders, len(objects)) {
		group.Go(func() error {
			for object := range left {
				if err := create(ctx, object); err != nil {
					return fmt.Errorf("create %T: %w", object, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}
