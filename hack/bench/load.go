package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const (
	serialCreates   = 1000
	hookedCreates   = 300
	parallelClients = 32
	parallelCreates = 8000
	watchers        = 100
	watchedCreates  = 3200
	watchedBurst    = 8
	deletedObjects  = 2000
	hookedDeletes   = 500
)

// load sends requests to a running server, for ConfigMaps in a new namespace.
type load struct {
	client     kubernetes.Interface
	configMaps typedcorev1.ConfigMapInterface
	column     column
}

// newLoad returns load on a running server.
func newLoad(ctx context.Context, c column, config *rest.Config) (*load, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit on the rate of the client's requests
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespace, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &load{client: client, configMaps: client.CoreV1().ConfigMaps(namespace.Name), column: c}, nil
}

// measureLoad measures a running server that has no other clients.
func measureLoad(ctx context.Context, c column, config *rest.Config) error {
	l, err := newLoad(ctx, c, config)
	if err != nil {
		return err
	}
	hooks := serveHooks()
	defer hooks.close()

	for _, step := range []func(context.Context) error{
		l.warmUp,
		func(ctx context.Context) error { return l.serial(ctx, &createTime, serialCreates) },
		l.parallel,
		l.watch,
		func(ctx context.Context) error { return l.deleteAll(ctx, &deleteRate, deletedObjects) },
		func(ctx context.Context) error {
			return l.withHooks(ctx, hooks, 0, 1, func() error { return l.serial(ctx, &validated, hookedCreates) })
		},
		func(ctx context.Context) error {
			return l.withHooks(ctx, hooks, 1, 0, func() error { return l.serial(ctx, &mutated, hookedCreates) })
		},
		func(ctx context.Context) error {
			return l.withHooks(ctx, hooks, 3, 3, func() error { return l.serial(ctx, &admitted, hookedCreates) })
		},
		func(ctx context.Context) error {
			return l.withHooks(ctx, hooks, 0, 3, func() error { return l.deleteAll(ctx, &deleteHook, hookedDeletes) })
		},
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) create(ctx context.Context) error {
	_, err := l.configMaps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"},
		Data:       map[string]string{"key": "value"},
	}, metav1.CreateOptions{})
	return err
}

// warmUp opens connections and runs code for the first time, so that the measured requests don't have to.
func (l *load) warmUp(ctx context.Context) error {
	for range 200 {
		if err := l.create(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serial measures the latency of one client.
func (l *load) serial(ctx context.Context, r *row, n int) error {
	latencies := make([]float64, 0, n)
	for range n {
		began := time.Now()
		if err := l.create(ctx); err != nil {
			return err
		}
		latencies = append(latencies, ms(time.Since(began)))
	}
	l.column.set(r, median(latencies))
	return nil
}

// inParallel creates objects by many clients.
func (l *load) inParallel(ctx context.Context, clients, n int) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			for range n / clients {
				if err := l.create(groupCtx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// parallel measures the throughput of many clients.
func (l *load) parallel(ctx context.Context) error {
	began := time.Now()
	if err := l.inParallel(ctx, parallelClients, parallelCreates); err != nil {
		return err
	}
	l.column.set(&createRate, parallelCreates/time.Since(began).Seconds())
	return nil
}

// watch measures the rate of events for many watchers. The objects are created in bursts that fit into the buffer that
// a server has for each watcher, because a server disconnects a watcher whose buffer is full.
func (l *load) watch(ctx context.Context) error {
	list, err := l.configMaps.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	var pending sync.WaitGroup // counts the events that watchers haven't received yet
	group, groupCtx := errgroup.WithContext(ctx)
	for range watchers {
		events, err := l.configMaps.Watch(groupCtx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			return err
		}
		group.Go(func() error {
			defer events.Stop()
			for range watchedCreates {
				event, open := <-events.ResultChan()
				if !open || event.Type != watch.Added {
					return fmt.Errorf("a watch ended, or sent %q, before all objects had come", event.Type)
				}
				pending.Done()
			}
			return nil
		})
	}
	began := time.Now()
	for range watchedCreates / watchedBurst {
		pending.Add(watchers * watchedBurst)
		if err := l.inParallel(groupCtx, watchedBurst, watchedBurst); err != nil {
			return errors.Join(err, group.Wait())
		}
		if err := await(groupCtx, &pending); err != nil {
			return errors.Join(err, group.Wait())
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	l.column.set(&eventRate, watchers*watchedCreates/time.Since(began).Seconds())
	return nil
}

func await(ctx context.Context, pending *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pending.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deleteAll measures deletecollection of n objects.
func (l *load) deleteAll(ctx context.Context, r *row, n int) error {
	if err := l.configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := l.inParallel(ctx, parallelClients, n); err != nil {
		return err
	}
	list, err := l.configMaps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	began := time.Now()
	if err := l.configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	l.column.set(r, float64(len(list.Items))/time.Since(began).Seconds())
	return nil
}
