package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// referenceRounds is the number of starts of kube-apiserver and etcd. A start takes seconds.
const referenceRounds = 5

// measureReference measures the kube-apiserver and etcd in KUBEBUILDER_ASSETS, which envtest starts. It does nothing if
// the variable isn't set.
func measureReference(ctx context.Context, t *table) error {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil
	}
	var starts, stops []float64
	for range referenceRounds {
		environment, _, took, err := startReference(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := environment.Stop(); err != nil {
			return err
		}
		starts, stops = append(starts, ms(took)), append(stops, ms(time.Since(began)))
	}
	// kube-apiserver runs one server in a process, so every start is a first start.
	for _, r := range []*row{&firstStart, &laterStart, &execReady} {
		t.reference.set(r, median(starts))
	}
	t.reference.set(&stopTime, median(stops))

	environment, config, _, err := startReference(ctx)
	if err != nil {
		return err
	}
	return errors.Join(measureRunning(ctx, t, config), environment.Stop())
}

func measureRunning(ctx context.Context, t *table, config *rest.Config) error {
	if err := sleep(ctx, idleAfter); err != nil {
		return err
	}
	memory, err := childrensMemory()
	if err != nil {
		return err
	}
	t.reference.set(&resident, memory/1e6)
	return measureLoad(ctx, t.reference, config)
}

func startReference(ctx context.Context) (*envtest.Environment, *rest.Config, time.Duration, error) {
	environment := &envtest.Environment{}
	began := time.Now()
	config, err := environment.Start()
	if err != nil {
		return nil, nil, 0, fmt.Errorf("envtest: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err == nil {
		_, err = client.CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		return nil, nil, 0, errors.Join(err, environment.Stop())
	}
	return environment, config, time.Since(began), nil
}

// childrensMemory returns the resident memory of the children of this process: kube-apiserver and etcd.
func childrensMemory() (float64, error) {
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return 0, err
	}
	var sum float64
	for _, file := range files {
		children, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		for _, child := range strings.Fields(string(children)) {
			var pid int
			if _, err := fmt.Sscan(child, &pid); err != nil {
				return 0, err
			}
			memory, err := residentMemory(pid)
			if err != nil {
				return 0, err
			}
			sum += memory
		}
	}
	return sum, nil
}
