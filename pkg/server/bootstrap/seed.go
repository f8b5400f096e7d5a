package bootstrap

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// seeders is how many creates are under way at once. Each mostly waits for the store, which joins them.
const seeders = 32

// Seed creates everything in a cluster that has nothing yet, by the given function, which is to keep an
// object's status; the client is for what depends on what is there. A function that knows a short way to the store saves the better part of a
// server's start, which [Ensure] is otherwise.
func Seed(ctx context.Context, create func(context.Context, runtime.Object) error, client kubernetes.Interface, config Config) error {
	objects, err := Objects(config)
	if err != nil {
		return err
	}
	var namespaces, others []runtime.Object
	for _, object := range objects {
		switch object.(type) {
		case *corev1.Namespace:
			namespaces = append(namespaces, object)
		case *corev1.Service, *networkingv1.ServiceCIDR: // the status of one allows the other
		default:
			others = append(others, object)
		}
	}
	// What is namespaced needs its namespace.
	for _, step := range [][]runtime.Object{namespaces, others} {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(seeders)
		for _, object := range step {
			group.Go(func() error {
				if err := create(ctx, object); err != nil {
					return fmt.Errorf("create %T: %w", object, err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	if !config.hasService() {
		return nil
	}
	return ensureService(ctx, client, config)
}
