//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/hack/bench/project"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// measureDefinitions measures starts with the custom resource definitions of a large project, the first request for a
// custom resource on a server with these definitions, and the creation of a single definition by a request to a running
// server. It also measures starts without definitions, to subtract their time.
func measureDefinitions(ctx context.Context, t *table, e engine, server *miniapitest.Server, rounds int) error {
	folder, err := os.MkdirTemp("", "miniapi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	with := miniapitest.WithCRDs(folder)
	var first, later, without, requestFirst, requestLater, more []float64
	for round := range firstRounds {
		if err := project.Write(folder, fmt.Sprint("round ", round)); err != nil {
			return err
		}
		if err := e.addStart(ctx, &first, with); err != nil {
			return err
		}
		for range max(1, rounds/firstRounds) {
			if err := errors.Join(e.addStart(ctx, &later, with), e.addStart(ctx, &without)); err != nil {
				return err
			}
		}
		if err := errors.Join(e.addRequest(ctx, &requestFirst, with), e.addRequest(ctx, &requestLater, with)); err != nil {
			return err
		}
	}
	for n := range rounds {
		file, err := project.WriteOne(folder, fmt.Sprint("more", n), "", project.Median)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := server.Apply(ctx, file); err != nil {
			return err
		}
		more = append(more, ms(time.Since(began)))
	}
	t.miniapi.set(&definitionsFirst, median(first))
	t.miniapi.set(&definitionsLater, median(later)-median(without))
	t.miniapi.set(&requestedFirst, median(requestFirst))
	t.miniapi.set(&requestedLater, median(requestLater))
	t.miniapi.set(&definitionMore, median(more))
	return nil
}

// addRequest starts a server, adds the time of its first request for a large custom resource in milliseconds to the
// figures, and stops the server. The server has answered another request before.
func (e engine) addRequest(ctx context.Context, figures *[]float64, with miniapitest.Option) error {
	server, _, err := e.start(ctx, with)
	if err != nil {
		return err
	}
	began := time.Now()
	_, err = server.DynamicClient().Resource(project.Largest).List(ctx, metav1.ListOptions{})
	*figures = append(*figures, ms(time.Since(began)))
	return errors.Join(err, server.Stop())
}
