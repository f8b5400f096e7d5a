//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/miniapi-dev/miniapi/hack/bench/project"
)

// firstServers is the number of servers whose first requests are measured.
const firstServers = 3

// firstRequests are measured one after the other, once on each new server, by a client whose connection is open. Some
// requests need preparation, which isn't measured.
var firstRequests = []struct {
	row     *row
	prepare func(*first, context.Context) error
	request func(*first, context.Context) error
}{
	{row: &firstDiscovery, request: (*first).discover},
	{row: &firstCreate, request: func(f *first, ctx context.Context) error { return f.create(ctx) }},
	{row: &firstPod, request: func(f *first, ctx context.Context) error { return f.createPod(ctx) }},
	{row: &firstApply, request: func(f *first, ctx context.Context) error { return f.apply(ctx) }},
	{row: &firstWatch, request: (*first).watch},
	{row: &firstTable, request: (*first).table},
	{
		row: &firstValidated,
		prepare: func(f *first, ctx context.Context) error {
			return f.addValidating(ctx, f.hooks, 1, admissionregistrationv1.Create)
		},
		request: func(f *first, ctx context.Context) error { return f.awaitCall(ctx, &f.hooks.validations) },
	},
	{
		row:     &firstMutated,
		prepare: func(f *first, ctx context.Context) error { return f.addMutating(ctx, f.hooks, 1) },
		request: func(f *first, ctx context.Context) error { return f.awaitCall(ctx, &f.hooks.mutations) },
	},
	{row: &firstDefinition, prepare: (*first).prepareDefinition, request: (*first).define},
	{row: &firstObject, request: (*first).createObject},
	{row: &firstOpenAPI3, request: func(f *first, ctx context.Context) error { return f.read(ctx, "/openapi/v3/apis/apps/v1") }},
	{row: &firstOpenAPI2, request: func(f *first, ctx context.Context) error { return f.read(ctx, "/openapi/v2") }},
}

// first makes the first requests to a new server.
type first struct {
	*load
	hooks      *hooks
	definition []byte // the definition of project.Largest.Resource, as JSON
}

// measureFirsts measures the first request of each sort to a new server, as in the first minute of a user.
func measureFirsts(ctx context.Context, t *table, binary string) error {
	var all []firstFigures
	for range firstServers {
		if err := withServers(ctx, t, binary, func(servers ...*load) error {
			for i, l := range servers {
				if len(all) <= i {
					all = append(all, firstFigures{column: l.column, took: map[*row][]float64{}, processor: map[*row][]float64{}})
				}
				if err := all[i].measure(ctx, l); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, figures := range all {
		for _, step := range firstRequests {
			figures.column.set(step.row, median(figures.took[step.row]))
			figures.column.setProcessor(step.row, median(figures.processor[step.row]))
		}
	}
	return nil
}

// firstFigures has the figures of several servers.
type firstFigures struct {
	column          column
	took, processor map[*row][]float64
}

func (f firstFigures) measure(ctx context.Context, l *load) error {
	hooks := serveHooks()
	defer hooks.close()
	requests := &first{load: l, hooks: hooks}
	for _, step := range firstRequests {
		if step.prepare != nil {
			if err := step.prepare(requests, ctx); err != nil {
				return fmt.Errorf("prepare %q: %w", step.row.name, err)
			}
		}
		took, measured, err := l.turn(1, func() error { return step.request(requests, ctx) })
		if err != nil {
			return fmt.Errorf("%s: %w", step.row.name, err)
		}
		f.took[step.row] = append(f.took[step.row], ms(took))
		f.processor[step.row] = append(f.processor[step.row], ms(measured.processor))
	}
	return nil
}

// discover asks for the two documents by which kubectl maps kinds to resources.
func (f *first) discover(ctx context.Context) error {
	for _, path := range []string{"/api", "/apis"} {
		const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		if err := f.client.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", aggregated).Do(ctx).Error(); err != nil {
			return err
		}
	}
	return nil
}

func (f *first) watch(ctx context.Context) error {
	events, err := f.client.CoreV1().Services("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer events.Stop()
	if _, open := <-events.ResultChan(); !open { // the Service kubernetes
		return errors.New("the watch ended before it had sent an object")
	}
	return nil
}

// table lists as "kubectl get" does.
func (f *first) table(ctx context.Context) error {
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	return f.client.CoreV1().RESTClient().Get().Resource("secrets").Namespace(f.namespace).SetHeader("Accept", table).Do(ctx).Error()
}

func (f *first) prepareDefinition(context.Context) error {
	folder, err := os.MkdirTemp("", "miniapi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	file, err := project.WriteOne(folder, project.Largest.Resource, "", project.Median)
	if err != nil {
		return err
	}
	f.definition, err = os.ReadFile(file)
	return err
}

func (f *first) define(ctx context.Context) error {
	return f.json.RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Body(f.definition).Do(ctx).Error()
}

// createObject creates an object of the definition. It tries again until the server serves the resource.
func (f *first) createObject(ctx context.Context) error {
	gvr := project.Largest
	object := fmt.Sprintf(`{"apiVersion":%q,"kind":"Parts0","metadata":{"name":"first"}}`, gvr.GroupVersion().String())
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, activeTimeout, true, func(ctx context.Context) (bool, error) {
		err := f.json.RESTClient().Post().AbsPath("/apis", gvr.Group, gvr.Version, "namespaces", f.namespace, gvr.Resource).Body([]byte(object)).Do(ctx).Error()
		return err == nil, client.IgnoreNotFound(err)
	})
}

func (f *first) read(ctx context.Context, path string) error {
	body, err := f.client.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}
