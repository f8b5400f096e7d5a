package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The servers are measured by turns, because the speed of the machine varies. The constants are the number of turns,
// and the numbers of clients, requests and objects in a turn.
const (
	loadTurns       = 5
	serialCreates   = 200
	hookedCreates   = 60
	parallelClients = 32
	parallelCreates = 1600
	watchers        = 100
	watchedCreates  = 640
	watchedBurst    = 8
	deletedObjects  = 1000
	hookedDeletes   = 300
)

// loadStep is a measurement of the servers under one kind of load.
type loadStep struct {
	row *row
	// mutating and validating are the numbers of webhooks that the server calls for each object.
	mutating, validating int
	// measure sends the requests of a turn, and returns the measured value.
	measure func(l *load, ctx context.Context) (float64, error)
}

var loadSteps = []loadStep{
	{row: &createTime, measure: serial(serialCreates)},
	{row: &createRate, measure: (*load).parallel},
	{row: &eventRate, measure: (*load).watch},
	{row: &deleteRate, measure: deleteAll(deletedObjects)},
	{row: &validated, validating: 1, measure: serial(hookedCreates)},
	{row: &mutated, mutating: 1, measure: serial(hookedCreates)},
	{row: &admitted, mutating: 3, validating: 3, measure: serial(hookedCreates)},
	{row: &deleteHook, validating: 3, measure: deleteAll(hookedDeletes)},
}

// load sends requests to a running server, for ConfigMaps in a new namespace.
type load struct {
	client     kubernetes.Interface
	configMaps typedcorev1.ConfigMapInterface
	column     column
}

// newLoad creates a namespace on a running server, and returns a load for this namespace.
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

// measureLoad measures miniapi under load. If KUBEBUILDER_ASSETS is set, it also measures the kube-apiserver there.
func measureLoad(ctx context.Context, t *table, binary string) (err error) {
	p, err := startProcess(ctx, binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return err
	}
	miniapi, err := newLoad(ctx, t.miniapi, config)
	if err != nil {
		return err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return measureSteps(ctx, miniapi)
	}

	environment, config, _, err := startReference(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	reference, err := newLoad(ctx, t.reference, config)
	if err != nil {
		return err
	}
	return measureSteps(ctx, miniapi, reference)
}

// measureSteps measures the servers under each kind of load (loadSteps), by turns.
func measureSteps(ctx context.Context, servers ...*load) error {
	hooks := serveHooks()
	defer hooks.close()
	for _, l := range servers {
		if err := l.warmUp(ctx); err != nil {
			return err
		}
	}
	for _, step := range loadSteps {
		if err := step.withHooks(ctx, hooks, servers, func() error { return step.byTurns(ctx, servers) }); err != nil {
			return fmt.Errorf("%s: %w", step.row.name, err)
		}
	}
	return nil
}

// withHooks calls do while all servers have the step's webhooks.
func (s *loadStep) withHooks(ctx context.Context, hooks *hooks, servers []*load, do func() error) error {
	if len(servers) == 0 {
		return do()
	}
	return servers[0].withHooks(ctx, hooks, s.mutating, s.validating, func() error {
		return s.withHooks(ctx, hooks, servers[1:], do)
	})
}

// byTurns sets the row of each server to the median of its turns.
func (s *loadStep) byTurns(ctx context.Context, servers []*load) error {
	figures := make([][]float64, len(servers))
	for range loadTurns {
		for i, l := range servers {
			figure, err := s.measure(l, ctx)
			if err != nil {
				return err
			}
			figures[i] = append(figures[i], figure)
		}
	}
	for i, l := range servers {
		l.column.set(s.row, median(figures[i]))
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

// serial returns a function that makes n creates one after the other. The function returns the median latency in
// milliseconds.
func serial(n int) func(*load, context.Context) (float64, error) {
	return func(l *load, ctx context.Context) (float64, error) {
		latencies := make([]float64, 0, n)
		for range n {
			began := time.Now()
			if err := l.create(ctx); err != nil {
				return 0, err
			}
			latencies = append(latencies, ms(time.Since(began)))
		}
		return median(latencies), nil
	}
}

// inParallel creates n objects, by several clients at once.
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
func (l *load) parallel(ctx context.Context) (float64, error) {
	began := time.Now()
	if err := l.inParallel(ctx, parallelClients, parallelCreates); err != nil {
		return 0, err
	}
	return parallelCreates / time.Since(began).Seconds(), nil
}

// watch measures the rate of events for many watchers. The objects are created in bursts that fit into the buffer that
// a server has for each watcher, because a server disconnects a watcher whose buffer is full.
func (l *load) watch(ctx context.Context) (float64, error) {
	list, err := l.configMaps.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	var pending sync.WaitGroup // counts the events that watchers haven't received yet
	group, groupCtx := errgroup.WithContext(ctx)
	for range watchers {
		events, err := l.configMaps.Watch(groupCtx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			return 0, err
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
			return 0, errors.Join(err, group.Wait())
		}
		if err := await(groupCtx, &pending); err != nil {
			return 0, errors.Join(err, group.Wait())
		}
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return watchers * watchedCreates / time.Since(began).Seconds(), nil
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

// deleteAll returns a function that deletes n objects by a deletecollection, and returns the objects per second.
func deleteAll(n int) func(*load, context.Context) (float64, error) {
	return func(l *load, ctx context.Context) (float64, error) {
		if err := l.configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return 0, err
		}
		if err := l.inParallel(ctx, parallelClients, n); err != nil {
			return 0, err
		}
		list, err := l.configMaps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := l.configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return 0, err
		}
		return float64(len(list.Items)) / time.Since(began).Seconds(), nil
	}
}
