package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/policycheck"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/suite"
	"github.com/miniapi-dev/miniapi/pkg/inprocess/local"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/kustomization"
)

// checkOptions are the flags of "miniapi check".
type checkOptions struct {
	version string
	output  output.Format
}

func newCheckCommand() *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check PATH... [flags]",
		Short: "Find what is wrong with policies, webhook configurations and definitions",
		Long: `Find what is wrong with policies and their bindings, webhook configurations and custom resource definitions, before any
request: what a server refuses, such as an expression that can't be compiled or costs too much; what it warns about, such
as a field that the type of an object doesn't have; and what can never match, such as a rule for a resource that isn't
served; and webhooks that can stop the cluster. A path is a file, a folder, a glob, a kustomization, or - for standard input. Roles and
namespaces in the files count for the checks. Objects of other kinds are skipped.

The exit code is 0 if nothing is wrong, apart from advice, 1 if something is, and 2 if a path can't be read.`,
		Example: `  miniapi check policies/
  kustomize build config | miniapi check -
  miniapi check policies/ --emulated-version 1.34`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.runCommand(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&o.version, "emulated-version", "", "Check against the APIs of this `VERSION` of Kubernetes, such as 1.34. By default, that of this program. Of versions before 1.34, what is known is checked besides.")
	o.output.AddFlag(cmd, "Format, json or yaml, instead of a text.", output.JSON, output.YAML)
	return cmd
}

func (o *checkOptions) runCommand(ctx context.Context, paths []string, in io.Reader, out, errOut io.Writer) error {
	if len(paths) == 0 {
		return cli.UsageError{Err: errors.New("give the paths of manifests, or - for standard input")}
	}
	objects, err := kustomization.Load(ctx, manifests.Reader{Wanted: policycheck.Read}, paths, in)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	checked := 0
	for _, object := range objects {
		if policycheck.Wanted(object.GroupVersionKind()) {
			checked++
		}
	}
	if checked == 0 {
		return cli.UsageError{Err: fmt.Errorf("%q: must have a policy, a binding, a webhook configuration or a custom resource definition", paths)}
	}
	ctx, stop := suite.UntilInterrupted(ctx)
	defer stop()
	found, err := o.check(ctx, objects)
	if err != nil {
		return err
	}
	err = o.output.Print(out, append([]policycheck.Finding{}, found...), func(out io.Writer) error {
		for _, finding := range found {
			if _, err := fmt.Fprintln(out, finding); err != nil {
				return err
			}
		}
		return nil
	})
	wrong := len(slices.DeleteFunc(found, func(f policycheck.Finding) bool { return f.Severity == policycheck.Advice }))
	if err != nil || wrong == 0 {
		return err
	}
	return fmt.Errorf("%d findings in %d objects", wrong, checked)
}

// check checks objects against a server with the APIs that kube-apiserver serves by default.
func (o *checkOptions) check(ctx context.Context, objects []manifests.Object) (found []policycheck.Finding, err error) {
	emulated, older := o.version, (*version.Version)(nil)
	if asked, err := version.ParseGeneric(o.version); err == nil && asked.LessThan(oldest) {
		emulated, older = fmt.Sprintf("%d.%d", oldest.Major(), oldest.Minor()), asked
	}
	ignore := func(string) {}
	server, err := (&local.Engine{}).Start(ctx, engine.Description{EmulatedVersion: emulated}, engine.Events{
		Log: ignore, Warn: ignore, Configured: func(engine.Authority) {},
	})
	if err != nil {
		return nil, cli.UsageError{Err: err}
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	info := server.Info()
	config := &rest.Config{Host: info.Host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: info.CA, CertData: info.Cert, KeyData: info.Key}}
	return policycheck.Check(ctx, config, objects, older)
}

// oldest is the oldest version of Kubernetes that a server emulates.
var oldest = version.MajorMinor(1, 34)
