//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The servers are measured by turns, because the speed of the machine varies. The constants are the number of turns,
// and the numbers of clients, requests and objects in a turn.
const (
	loadTurns       = 5
	serialRequests  = 200
	hookedCreates   = 60
	parallelClients = 32
	parallelCreates = 1600
	parallelHooked  = 320
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
	// measure sends the requests of a turn.
	measure func(l *load, ctx context.Context) (turn, error)
	// turns is the number of turns; 0 stands for loadTurns.
	turns int
}

// turn has the measurements of a turn.
type turn struct {
	figure float64 // the value of the step's row
	// processor is the processor time that the server has used for a number of operations.
	processor  time.Duration
	operations int
}

var loadSteps = []loadStep{
	{row: &createTime, measure: serial(serialRequests, (*load).create)},
	{row: &createJSON, measure: serial(serialRequests, (*load).createByJSON)},
	{row: &createRate, measure: parallel(parallelCreates)},
	{row: &createPod, measure: serial(serialRequests, (*load).createPod)},
	{row: &getPod, measure: serial(serialRequests, get(""))},
	{row: &getCached, measure: serial(serialRequests, get("0"))},
	{row: &patchPod, measure: serial(serialRequests, (*load).patch)},
	{row: &patchStatus, measure: serial(serialRequests, (*load).patchStatus)},
	{row: &applyPod, measure: serial(serialRequests, (*load).apply)},
	{row: &eventRate, measure: events(100, configMapEvents)},
	{row: &eventRate300, measure: events(300, configMapEvents)},
	{row: &deleteRate, measure: deleteAll(deletedObjects)},
	{row: &validated, validating: 1, measure: serial(hookedCreates, (*load).create)},
	{row: &validated3, validating: 3, measure: serial(hookedCreates, (*load).create)},
	{row: &mutated, mutating: 1, measure: serial(hookedCreates, (*load).create)},
	{row: &mutated3, mutating: 3, measure: serial(hookedCreates, (*load).create)},
	{row: &admitted, mutating: 3, validating: 3, measure: serial(hookedCreates, (*load).create)},
	{row: &admittedRate, mutating: 3, validating: 3, measure: parallel(parallelHooked)},
	{row: &deleteHook, validating: 3, measure: deleteAll(hookedDeletes)},
}

// load sends requests to a running server, in a new namespace.
type load struct {
	client     kubernetes.Interface
	configMaps typedcorev1.ConfigMapInterface
	pods       typedcorev1.PodInterface
	json       typedcorev1.CoreV1Interface // a client that encodes in JSON; the others use protobuf
	namespace  string
	pod        string // the pod that is read and changed
	column     column
	servers    processes
	requests   int // the number of changes so far, so that each differs from the one before
}

// newLoad creates a namespace on a running server, and returns a load for this namespace.
func newLoad(ctx context.Context, c column, config *rest.Config, servers ...int) (*load, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit on the rate of the client's requests
	config.ContentType = runtime.ContentTypeJSON
	inJSON, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespace, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &load{
		client: client, configMaps: client.CoreV1().ConfigMaps(namespace.Name), pods: client.CoreV1().Pods(namespace.Name),
		json: inJSON, namespace: namespace.Name, column: c, servers: servers,
	}, nil
}

// measureLoad measures miniapi under load. If KUBEBUILDER_ASSETS is set, it also measures the kube-apiserver there.
func measureLoad(ctx context.Context, t *table, binary string) error {
	return withServers(ctx, t, binary, func(servers ...*load) error { return measureSteps(ctx, loadSteps, servers) })
}

// withServers starts miniapi, and the kube-apiserver in KUBEBUILDER_ASSETS if that is set, calls do, and stops them.
// Neither server has the admission plugin ServiceAccount, which envtest turns off: it makes pods larger.
func withServers(ctx context.Context, t *table, binary string, do func(servers ...*load) error) (err error) {
	p, err := startProcess(ctx, binary, "--disable-admission-plugins=ServiceAccount")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return err
	}
	miniapi, err := newLoad(ctx, t.miniapi, config, p.command.Process.Pid)
	if err != nil {
		return err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return do(miniapi)
	}

	before, err := descendants(os.Getpid())
	if err != nil {
		return err
	}
	environment, config, _, err := startReference(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	after, err := descendants(os.Getpid())
	if err != nil {
		return err
	}
	reference, err := newLoad(ctx, t.reference, config, slices.DeleteFunc(after, func(pid int) bool { return slices.Contains(before, pid) })...)
	if err != nil {
		return err
	}
	return do(miniapi, reference)
}

// measureSteps measures the servers under each kind of load, by turns.
func measureSteps(ctx context.Context, steps []loadStep, servers []*load) error {
	hooks := serveHooks()
	defer hooks.close()
	for _, l := range servers {
		if err := l.warmUp(ctx); err != nil {
			return err
		}
	}
	for _, step := range steps {
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

// byTurns sets the row of each server, and the processor time of an operation, to the medians of the turns.
func (s *loadStep) byTurns(ctx context.Context, servers []*load) error {
	figures, processor := make([][]float64, len(servers)), make([][]float64, len(servers))
	for range cmp.Or(s.turns, loadTurns) {
		for i, l := range servers {
			measured, err := s.measure(l, ctx)
			if err != nil {
				return err
			}
			figures[i] = append(figures[i], measured.figure)
			processor[i] = append(processor[i], ms(measured.processor)/float64(measured.operations))
		}
	}
	for i, l := range servers {
		l.column.set(s.row, median(figures[i]))
		l.column.setProcessor(s.row, median(processor[i]))
	}
	return nil
}

func (l *load) create(ctx context.Context) error {
	_, err := l.configMaps.Create(ctx, newConfigMap(), metav1.CreateOptions{})
	return err
}

func (l *load) createByJSON(ctx context.Context) error {
	_, err := l.json.ConfigMaps(l.namespace).Create(ctx, newConfigMap(), metav1.CreateOptions{})
	return err
}

func newConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"},
		Data:       map[string]string{"key": "value"},
	}
}

func (l *load) createPod(ctx context.Context) error {
	created, err := l.pods.Create(ctx, newPod(0), metav1.CreateOptions{})
	if err == nil {
		l.pod = created.Name
	}
	return err
}

// get returns a function that reads a pod at a resource version.
func get(resourceVersion string) func(*load, context.Context) error {
	return func(l *load, ctx context.Context) error {
		_, err := l.pods.Get(ctx, l.pod, metav1.GetOptions{ResourceVersion: resourceVersion})
		return err
	}
}

func (l *load) patch(ctx context.Context) error {
	l.requests++
	body := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/patched":"%d"}}}`, l.requests)
	_, err := l.pods.Patch(ctx, l.pod, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

func (l *load) patchStatus(ctx context.Context) error {
	l.requests++
	body := fmt.Sprintf(`{"status":{"message":"%d"}}`, l.requests)
	_, err := l.pods.Patch(ctx, l.pod, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
	return err
}

func (l *load) apply(ctx context.Context) error {
	l.requests++
	configuration := corev1apply.Pod(l.pod, l.namespace).WithAnnotations(map[string]string{"example.com/applied": fmt.Sprint(l.requests)})
	_, err := l.pods.Apply(ctx, configuration, metav1.ApplyOptions{FieldManager: "bench"})
	return err
}

// warmUp opens connections and runs code for the first time, so that the measured requests don't have to.
func (l *load) warmUp(ctx context.Context) error {
	for _, request := range []func(*load, context.Context) error{
		(*load).create, (*load).createByJSON, (*load).createPod, get(""), get("0"), (*load).patch, (*load).patchStatus, (*load).apply,
	} {
		for range 50 {
			if err := request(l, ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn calls do, which makes a number of operations. It returns the time that do has taken, and a turn without a figure.
func (l *load) turn(operations int, do func() error) (time.Duration, turn, error) {
	before, err := l.servers.processorTime()
	if err != nil {
		return 0, turn{}, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, turn{}, err
	}
	took := time.Since(began)
	after, err := l.servers.processorTime()
	return took, turn{processor: after - before, operations: operations}, err
}

// serial returns a function that makes n requests one after the other. The figure is the median latency in milliseconds.
func serial(n int, request func(*load, context.Context) error) func(*load, context.Context) (turn, error) {
	return func(l *load, ctx context.Context) (turn, error) {
		latencies := make([]float64, 0, n)
		_, measured, err := l.turn(n, func() error {
			for range n {
				began := time.Now()
				if err := request(l, ctx); err != nil {
					return err
				}
				latencies = append(latencies, ms(time.Since(began)))
			}
			return nil
		})
		measured.figure = median(latencies)
		return measured, err
	}
}

// inParallel makes n requests, by several clients at once.
func inParallel(ctx context.Context, clients, n int, request func(context.Context) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			for range n / clients {
				if err := request(groupCtx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// parallel returns a function that makes n creates by many clients. The figure is the number of creates per second.
func parallel(n int) func(*load, context.Context) (turn, error) {
	return func(l *load, ctx context.Context) (turn, error) {
		took, measured, err := l.turn(n, func() error { return inParallel(ctx, parallelClients, n, l.create) })
		measured.figure = float64(n) / took.Seconds()
		return measured, err
	}
}

// watched is a collection of objects whose events are measured.
type watched struct {
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	create func(context.Context) error
}

func configMapEvents(l *load) watched { return watched{l.configMaps.Watch, l.create} }

// events returns a function that creates objects while watchers get their events. The figure is the number of events per
// second that reach all watchers together. The objects are created in bursts that fit into the buffer that a server has
// for each watcher, because a server disconnects a watcher whose buffer is full.
func events(watchers int, of func(*load) watched) func(*load, context.Context) (turn, error) {
	return func(l *load, ctx context.Context) (turn, error) {
		list, err := l.configMaps.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return turn{}, err
		}
		objects := of(l)
		var pending sync.WaitGroup // counts the events that watchers haven't received yet
		group, groupCtx := errgroup.WithContext(ctx)
		for range watchers {
			events, err := objects.watch(groupCtx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
			if err != nil {
				return turn{}, err
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
		took, measured, err := l.turn(watchers*watchedCreates, func() error {
			for range watchedCreates / watchedBurst {
				pending.Add(watchers * watchedBurst)
				if err := inParallel(groupCtx, watchedBurst, watchedBurst, objects.create); err != nil {
					return err
				}
				if err := await(groupCtx, &pending); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, group.Wait()); err != nil {
			return turn{}, err
		}
		measured.figure = float64(measured.operations) / took.Seconds()
		return measured, nil
	}
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

// deleteAll returns a function that creates n objects and deletes all of them by a deletecollection. The figure is the
// number of deleted objects per second.
func deleteAll(n int) func(*load, context.Context) (turn, error) {
	return func(l *load, ctx context.Context) (turn, error) {
		if err := l.configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return turn{}, err
		}
		if err := inParallel(ctx, parallelClients, n, l.create); err != nil {
			return turn{}, err
		}
		list, err := l.configMaps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return turn{}, err
		}
		took, measured, err := l.turn(len(list.Items), func() error {
			return l.configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		})
		measured.figure = float64(measured.operations) / took.Seconds()
		return measured, err
	}
}
