//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

const (
	// manyPods is the number of pods of a large collection.
	manyPods = 20000
	// listRounds is the number of lists in a turn.
	listRounds = 3
	// deleteTimeout limits the deletion of the pods.
	deleteTimeout = 5 * time.Minute
	// listsAtOnce is the number of lists at the same time.
	listsAtOnce = 10
	// tenth is a label selector that selects every tenth pod.
	tenth = "tenth=1"
)

// listSteps measure servers that have manyPods pods. The last one deletes the pods.
var listSteps = []loadStep{
	{row: &listFirst, measure: lists(listsAtOnce, 1, (*load).protobuf, metav1.ListOptions{}), turns: 1},
	{row: &listAll, measure: lists(1, listRounds, (*load).protobuf, metav1.ListOptions{})},
	{row: &listCached, measure: lists(1, listRounds, (*load).protobuf, metav1.ListOptions{ResourceVersion: "0"})},
	{row: &listJSON, measure: lists(1, listRounds, (*load).inJSON, metav1.ListOptions{})},
	{row: &listPages, measure: (*load).pages},
	{row: &listTenth, measure: lists(1, listRounds, (*load).protobuf, metav1.ListOptions{LabelSelector: tenth})},
	{row: &watchTenth, measure: (*load).watchStarts},
	{row: &eventsBeside, measure: events(100, podEvents)},
	{row: &deletePods, measure: (*load).deletePods, turns: 1},
}

// measureLists measures lists, watches and a deletecollection of many pods.
func measureLists(ctx context.Context, t *table, binary string) error {
	return withServers(ctx, t, binary, func(servers ...*load) error {
		for _, l := range servers {
			if err := l.createPods(ctx); err != nil {
				return fmt.Errorf("create %d pods: %w", manyPods, err)
			}
		}
		for _, step := range listSteps {
			if err := step.byTurns(ctx, servers); err != nil {
				return fmt.Errorf("%s: %w", step.row.name, err)
			}
		}
		return nil
	})
}

// newPod returns the nth of many pods. It has the fields of a small pod of a Deployment.
func newPod(n int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "bench-",
			Labels:       map[string]string{"app": "bench", "tenth": fmt.Sprint(n % 10)},
			Annotations:  map[string]string{"example.com/checksum": "0123456789abcdef0123456789abcdef"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example.com/team/image:v1.2.3", Args: []string{"--verbose", "--port=8080"},
			Env:   []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
			Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
		}}},
	}
}

func (l *load) createPods(ctx context.Context) error {
	var created atomic.Int64
	return inParallel(ctx, parallelClients, manyPods, func(ctx context.Context) error {
		_, err := l.pods.Create(ctx, newPod(created.Add(1)), metav1.CreateOptions{})
		return err
	})
}

func podEvents(l *load) watched {
	return watched{l.pods.Watch, func(ctx context.Context) error {
		_, err := l.pods.Create(ctx, newPod(0), metav1.CreateOptions{})
		return err
	}}
}

func (l *load) protobuf() rest.Interface { return l.client.CoreV1().RESTClient() }

func (l *load) inJSON() rest.Interface { return l.json.RESTClient() }

// lists returns a function that lists the pods by several clients at once. The clients read the lists without decoding
// them. The figure is the time of a list in milliseconds.
func lists(clients, rounds int, client func(*load) rest.Interface, options metav1.ListOptions) func(*load, context.Context) (turn, error) {
	return func(l *load, ctx context.Context) (turn, error) {
		list := func(ctx context.Context) error {
			body, err := client(l).Get().Resource("pods").Namespace(l.namespace).VersionedParams(&options, scheme.ParameterCodec).Stream(ctx)
			if err != nil {
				return err
			}
			defer body.Close()
			_, err = io.Copy(io.Discard, body)
			return err
		}
		took, measured, err := l.turn(clients*rounds, func() error { return inParallel(ctx, clients, clients*rounds, list) })
		measured.figure = ms(took) / float64(rounds)
		return measured, err
	}
}

// pages lists the pods in pages of 500, as kubectl does.
func (l *load) pages(ctx context.Context) (turn, error) {
	took, measured, err := l.turn(1, func() error {
		options := metav1.ListOptions{Limit: 500}
		for {
			list, err := l.pods.List(ctx, options)
			if err != nil || list.Continue == "" {
				return err
			}
			options.Continue = list.Continue
		}
	})
	measured.figure = ms(took)
	return measured, err
}

// watchStarts begins watches that select every tenth pod. The figure is the time until a watch has sent these pods.
func (l *load) watchStarts(ctx context.Context) (turn, error) {
	took, measured, err := l.turn(listRounds, func() error {
		for range listRounds {
			events, err := l.pods.Watch(ctx, metav1.ListOptions{LabelSelector: tenth})
			if err != nil {
				return err
			}
			for range manyPods / 10 {
				if _, open := <-events.ResultChan(); !open {
					return fmt.Errorf("a watch ended before it had sent the pods")
				}
			}
			events.Stop()
		}
		return nil
	})
	measured.figure = ms(took) / listRounds
	return measured, err
}

// deletePods deletes all pods. The figure is the number of deleted pods per second. A server ends a request after a
// minute, so the request is repeated until no pod is left.
func (l *load) deletePods(ctx context.Context) (turn, error) {
	list, err := l.pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return turn{}, err
	}
	pods := len(list.Items) + int(ptr.Deref(list.RemainingItemCount, 0))
	took, measured, err := l.turn(pods, func() error {
		return wait.PollUntilContextTimeout(ctx, time.Millisecond, deleteTimeout, true, func(ctx context.Context) (bool, error) {
			return l.pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}) == nil, nil
		})
	})
	measured.figure = float64(pods) / took.Seconds()
	return measured, err
}
