//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/miniapi-dev/miniapi/hack/bench/project"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// measureObjects measures starts with objects and webhook configurations: of the first server, of later ones, and of
// servers that apply the objects by requests. It also measures starts without objects, to subtract their time.
func measureObjects(ctx context.Context, t *table, e engine, rounds int) error {
	folder, err := os.MkdirTemp("", "miniapi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	objects, webhooks := filepath.Join(folder, "objects.yaml"), filepath.Join(folder, "webhooks.yaml")
	if err := os.WriteFile(webhooks, []byte(project.Configurations()), 0o600); err != nil {
		return err
	}
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	var first, later, requested, without []float64
	for round := range rounds {
		if err := os.WriteFile(objects, []byte(project.Objects(fmt.Sprint("round ", round))), 0o600); err != nil {
			return err
		}
		with := []miniapitest.Option{
			miniapitest.WithManifests(objects), miniapitest.WithWebhookManifests(webhooks), miniapitest.WithWebhook("/hook", handler),
		}
		for _, part := range []struct {
			figures *[]float64
			options []miniapitest.Option
		}{
			{&first, with}, {&later, with}, {&without, nil},
			{&requested, append(with[:len(with):len(with)], miniapitest.WithFlags("--event-ttl=59m"))}, // with flags, later servers don't reuse stored objects
		} {
			if err := e.addStart(ctx, part.figures, part.options...); err != nil {
				return err
			}
		}
	}
	t.miniapi.set(&objectsFirst, median(first)-median(without))
	t.miniapi.set(&objectsLater, median(later)-median(without))
	t.miniapi.set(&objectsRequested, median(requested)-median(without))
	return nil
}
