package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/daemon"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/kustomization"
)

// refusedByDaemon are the flags that can't be given together with --daemon, with the reasons.
var refusedByDaemon = map[string]string{
	"apply-skip-unknown": "a daemon only starts with all objects of --apply",
	"behind":             "a daemon has users of its own",
	"log-requests":       "a daemon writes no log",
	"secure-port":        "a daemon takes a free port",
}

// ofDaemon are the flags whose values a daemon gets in other fields than the flags.
var ofDaemon = map[string]bool{
	"apply": true, "controllers": true, "daemon": true, "nodes": true, "run-pods": true, "stages": true, "workloads": true, "data-dir": true, "disable-admission-plugins": true, "emulated-version": true,
	"enable-admission-plugins": true, "feature-gates": true, "runtime-config": true, "write-kubeconfig": true,
}

// runDaemon starts a daemon with the flags of the command.
func (o *serveOptions) runDaemon(ctx context.Context, flags *pflag.FlagSet, in io.Reader, out, errOut io.Writer) error {
	file, err := kubeconfig.NewTarget(o.kubeconfig)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	objects, err := kustomization.Load(ctx, manifests.Reader{}, o.apply, in)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--apply: %w", err)}
	}
	described, err := o.describe(flags, objects)
	if err != nil {
		return err
	}
	if err := file.CheckUnused(ctx, ""); err != nil {
		return err
	}
	d, server, err := daemon.Start(ctx, o.daemon, file.Path, described)
	if err != nil {
		return err
	}
	for _, warning := range server.Warnings {
		fmt.Fprintln(errOut, "Warning:", warning)
	}
	admin := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: []byte(server.CA), CertData: []byte(server.Cert), KeyData: []byte(server.Key),
	}}
	if err := file.Write(ctx, admin); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "miniapi is ready on %s until \"miniapi stop %s\": %s\n", server.URL, d.Name, cli.Exported("KUBECONFIG", file.Path))
	return err
}

// describe returns the options of the daemon's server.
func (o *serveOptions) describe(flags *pflag.FlagSet, objects []manifests.Object) (control.Options, error) {
	described := control.Options{Setup: &control.Setup{}}
	described.Controllers = o.Server.Controllers
	if o.workloads {
		described.Workloads = &engine.Workloads{Nodes: &o.workloadOptions.Nodes, Stages: o.workloadOptions.Stages, RunPods: o.runPods}
	}
	described.DataDir = o.Server.DataDir
	described.EnablePlugins, described.DisablePlugins = o.Server.Admission.Enable, o.Server.Admission.Disable
	described.FeatureGates = o.Server.FeatureGates
	described.RuntimeConfig = o.Server.APIs.RuntimeConfig
	for _, object := range objects {
		content, err := object.Encoded()
		if err != nil {
			return described, fmt.Errorf("--apply: %w", err)
		}
		described.Setup.Objects = append(described.Setup.Objects, content.JSON)
	}
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		reason, refused := refusedByDaemon[flag.Name]
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		switch {
		case refused:
			err = cli.UsageError{Err: fmt.Errorf("--%s: can't be given together with --daemon: %s", flag.Name, reason)}
		case flag.Name == "emulated-version":
			described.EmulatedVersion = strings.Join(values, ",")
		case !ofDaemon[flag.Name]:
			for _, value := range values {
				described.Flags = append(described.Flags, "--"+flag.Name+"="+value)
			}
		}
	})
	return described, err
}
