//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// referenceRounds is the number of starts of kube-apiserver and etcd. A start takes seconds.
	referenceRounds = 5
	// referenceName is the value of the flag -first that starts kube-apiserver and etcd.
	referenceName = "envtest"
	// startTimeout limits a start. Twenty starts at once on two processors take longer than envtest's own limit.
	startTimeout = 10 * time.Minute
)

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
	for _, r := range []*row{&fixtureFirst, &fixtureLater, &firstStart, &laterStart, &execReady} {
		t.reference.set(r, median(starts))
	}
	for _, r := range []*row{&fixtureStop, &stopTime} {
		t.reference.set(r, median(stops))
	}

	environment, _, _, err := startReference(ctx)
	if err != nil {
		return err
	}
	return errors.Join(measureReferenceMemory(ctx, t), environment.Stop())
}

func measureReferenceMemory(ctx context.Context, t *table) error {
	if err := sleep(ctx, idleAfter); err != nil {
		return err
	}
	memory, err := memoryOfDescendants(os.Getpid(), resident)
	if err != nil {
		return err
	}
	t.reference.set(&residentIdle, memory/1e6)
	return nil
}

func startReference(ctx context.Context) (*envtest.Environment, *rest.Config, time.Duration, error) {
	environment := &envtest.Environment{ControlPlaneStartTimeout: startTimeout}
	began := time.Now()
	config, err := environment.Start()
	if err != nil {
		return nil, nil, 0, fmt.Errorf("start kube-apiserver and etcd by envtest: %w", err)
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
