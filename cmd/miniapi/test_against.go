package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/against"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/kustomization"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// againstOptions are the flags of "miniapi test" for existing objects.
type againstOptions struct {
	source     string
	operations []string
	state      string
	services   services.Addresses
}

func (o *againstOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.source, "against", "", "Instead of running cases, find which objects of this `KUBECONFIG|CAPTURE` the policies, webhooks and definitions of PATH would refuse or change: objects of a cluster, which is only read, or those of a file or a folder that \"kubectl get -o yaml\" has written.")
	flags.StringSliceVar(&o.operations, "operation", []string{string(admissionv1.Create), string(admissionv1.Update)}, "With --against, review each object in these `OPERATIONS`: CREATE, as if it were made again, and UPDATE, as a write that changes nothing.")
	flags.StringVar(&o.state, "state", "", "With --against, keep the progress in this `FILE`, so that the same command goes on after an interruption.")
	o.services = services.Addresses{}
	flags.Var(o.services, "webhook-service", "With --against, call the webhooks of a service at this address: `NAMESPACE/NAME[:PORT]=HOST:PORT`. The webhook's certificate must be of the caBundle. May be repeated.")
}

// validate checks the flags of the command.
func (o *againstOptions) validate(paths []string, flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(given *pflag.Flag) {
		switch own := slices.Contains([]string{"against", "operation", "state", "webhook-service"}, given.Name); {
		case o.source == "" && own:
			err = fmt.Errorf("--%s: give --against too, with a kubeconfig or a capture", given.Name)
		case o.source != "" && !own && given.Name != "output":
			err = fmt.Errorf("--%s: is for cases, and --against runs none: leave one of the flags out", given.Name)
		}
	})
	if o.source == "" || err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.New("give the paths of policies, webhook configurations or definitions")
	}
	if len(o.operations) == 0 {
		return errors.New("--operation: must be CREATE, UPDATE or both")
	}
	for _, operation := range o.operations {
		if !slices.Contains([]string{string(admissionv1.Create), string(admissionv1.Update)}, operation) {
			return fmt.Errorf("--operation %q: must be CREATE or UPDATE", operation)
		}
	}
	return nil
}

// judge writes the report about existing objects.
func (o *againstOptions) judge(ctx context.Context, paths []string, format string, in io.Reader, out, errOut io.Writer) error {
	objects, err := judgedIn(ctx, paths, in)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	options := against.Options{
		Objects: objects, Source: o.source, State: o.state,
		Serve: func(ctx context.Context, change func(*server.Options), work func(context.Context, *server.Server) error) error {
			return temporaryServer{change: func(options *server.Options) {
				change(options)
				options.Admission.Services = o.services
			}}.run(ctx, errOut, work)
		},
	}
	for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
		if slices.Contains(o.operations, string(operation)) {
			options.Operations = append(options.Operations, operation)
		}
	}
	if cli.IsTerminal(errOut) {
		options.Progress = func(reviewed, left int, resource string) {
			fmt.Fprintf(errOut, "\r\x1b[K%d objects, %d more of %s", reviewed, left, resource)
		}
	}
	report, err := against.Run(ctx, options)
	if options.Progress != nil {
		fmt.Fprint(errOut, "\r\x1b[K") // the report begins on an empty line
	}
	if err != nil {
		if o.state != "" && report != nil {
			err = fmt.Errorf("%w; the state of %d objects is in %s: the same command goes on from there", err, report.Objects, cli.Quoted(o.state))
		}
		return cli.UsageError{Err: err}
	}
	if err := report.Write(out, format); err != nil {
		return err
	}
	if refused := report.Count(against.Refuses); refused > 0 {
		return fmt.Errorf("%d of %d objects would be refused", refused, report.Objects)
	}
	return nil
}

// judgedIn returns the objects of paths that are judged: policies, bindings, webhook configurations, definitions, and the
// parameters of the policies. Others, such as the objects of cases, are skipped.
func judgedIn(ctx context.Context, paths []string, in io.Reader) ([]manifests.Object, error) {
	reader := manifests.Reader{Skip: func(kind schema.GroupVersionKind) bool { return kind.Group == testfile.Group }}
	all, err := kustomization.Load(ctx, reader, paths, in)
	if err != nil {
		return nil, err
	}
	wanted := against.Wanted(all)
	objects := slices.DeleteFunc(all, func(object manifests.Object) bool { return !wanted(object.GroupVersionKind()) })
	if len(objects) == 0 {
		return nil, fmt.Errorf("%q: must have a policy, a webhook configuration or a custom resource definition", paths)
	}
	return objects, nil
}
