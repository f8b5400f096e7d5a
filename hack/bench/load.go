package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	serialCreates   = 1000
	parallelClients = 32
	parallelCreates = 8000
	watchers        = 100
	watchedCreates  = 500
)

// measureLoad creates, watches and deletes ConfigMaps in a namespace of its own.
func measureLoad(ctx context.Context, kubeconfig string, report reportFunc) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // the server is measured, not the client's own limit
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() {
		_ = client.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), namespace.Name, metav1.DeleteOptions{})
	}()

	l := load{configMaps: client.CoreV1().ConfigMaps(namespace.Name), report: report}
	for _, measure := range []func(context.Context) error{l.serial, l.parallel, l.watch, l.deleteAll} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

type load struct {
	configMaps typedcorev1.ConfigMapInterface
	report     reportFunc
}

func (l *load) create(ctx context.Context) error {
	_, err := l.configMaps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"},
		Data:       map[string]string{"key": "value"},
	}, metav1.CreateOptions{})
	return err
}

// serial measures the latency that one client sees.
func (l *load) serial(ctx context.Context) error {
	latencies := make([]time.Duration, 0, serialCreates)
	for range serialCreates {
		began := time.Now()
		if err := l.create(ctx); err != nil {
			return err
		}
		latencies = append(latencies, time.Since(began))
	}
	l.report("create, one client, p50", "%s", rounded(median(latencies)))
	return nil
}

// parallel measures the throughput of many clients.
func (l *load) parallel(ctx context.Context) error {
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	for range parallelClients {
		group.Go(func() error {
			for range parallelCreates / parallelClients {
				if err := l.create(groupCtx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	l.report(fmt.Sprintf("create, %d clients", parallelClients), "%.0f /s", parallelCreates/time.Since(began).Seconds())
	return nil
}

// watch measures how fast events reach many watchers.
func (l *load) watch(ctx context.Context) error {
	list, err := l.configMaps.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	var received atomic.Int64
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
				received.Add(1)
			}
			return nil
		})
	}
	began := time.Now()
	for range watchedCreates {
		if err := l.create(ctx); err != nil {
			return err
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	l.report(fmt.Sprintf("events to %d watchers", watchers), "%.0f /s", float64(received.Load())/time.Since(began).Seconds())
	return nil
}

// deleteAll measures deletecollection on everything that was created.
func (l *load) deleteAll(ctx context.Context) error {
	list, err := l.configMaps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	began := time.Now()
	if err := l.configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	l.report("deletecollection", "%.0f objects/s", float64(len(list.Items))/time.Since(began).Seconds())
	return nil
}
