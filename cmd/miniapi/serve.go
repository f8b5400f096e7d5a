package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/logging"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/stages"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/kustomization"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/workloads"
)

// serveOptions are the options of the server, and the flags that only this command has.
type serveOptions struct {
	*launch.Options
	kubeconfig string
	// daemon is the name of --daemon, or "".
	daemon string
	apply  []string
	// skipUnknown is --apply-skip-unknown: the command skips manifests of kinds that the server lacks.
	skipUnknown bool
	// workloads is --workloads: the server runs workloads, with nodes that pretend.
	workloads       bool
	workloadOptions workloads.Options
	// runPods is --run-pods: containers with commands run as processes.
	runPods bool
	helpAll bool
}

// defaultKubeconfig is the default of --write-kubeconfig.
const defaultKubeconfig = "miniapi.kubeconfig"

func newServeCommand() *cobra.Command {
	o := &serveOptions{Options: launch.NewOptions(server.NewOptions()), workloadOptions: workloads.NewOptions()}
	o.Server.Controllers = controllers.Selection{controllers.All}
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve a Kubernetes API over an embedded etcd",
		Long: `Serve a Kubernetes API on 127.0.0.1:6443 over an embedded etcd.

The server writes a kubeconfig for the admin, and prints one line when it is ready.
Flags that kube-apiserver has, too, have the same names.`,
		Example: `  # Serve, and use it from another terminal
  miniapi serve
  kubectl --kubeconfig miniapi.kubeconfig get namespaces

  # Keep the data, and take a free port
  miniapi serve --data-dir data --secure-port 0

  # Begin with an operator's definitions and objects
  miniapi serve --apply config/crd --apply config/samples

  # Call a webhook that runs on this machine, by the service in its configuration
  miniapi serve --apply config/webhook \
    --webhook-service system/webhook-service=127.0.0.1:9443`,
		Args: cli.UsageArgs(cli.FlagsAlone),
	}
	own := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	own.StringVar(&o.kubeconfig, "write-kubeconfig", defaultKubeconfig, "Write the admin's kubeconfig to this `FILE`.")
	own.StringArrayVar(&o.apply, "apply", nil, "Apply the manifests of this `PATH`, in order, before the server says that it is ready: a file, a folder, a glob, a folder with a kustomization, or - for standard input. May be repeated.")
	own.BoolVar(&o.skipUnknown, "apply-skip-unknown", false, "Skip objects of unknown kinds, with a line for each, instead of failing.")
	own.BoolVar(&o.workloads, "workloads", false, "Run workloads: the controllers of Deployments and the like, and nodes whose pods pretend to be ready.")
	own.IntVar(&o.workloadOptions.Nodes, "nodes", o.workloadOptions.Nodes, "The number `N` of nodes of --workloads.")
	own.StringArrayVar(&o.workloadOptions.Stages, "stages", nil, fmt.Sprintf("Let pods and nodes go through the `STAGES` of a file with kwok's Stages, or through one of %s, also for a label alone, as in crash-loop:app=web. May be repeated.", strings.Join(stages.Names(), ", ")))
	own.BoolVar(&o.runPods, "run-pods", false, "Run the containers of pods with the annotation "+environment.Command+" as processes of this machine, as your user. Users who may create pods run commands by it.")
	own.StringVar(&o.daemon, "daemon", "", "Return when the server is ready, and keep it under this `NAME` until \"miniapi stop NAME\".")
	own.BoolVar(&o.helpAll, cli.HelpAll, false, "Print all flags, kube-apiserver's and its feature gates among them.")
	printAll := setShortHelp(cmd, o.AddFlags(cmd, own), cli.Columns())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.helpAll {
			printAll()
			return nil
		}
		if flag := workloadFlag(cmd.Flags()); flag != "" && !o.workloads {
			return cli.UsageError{Err: fmt.Errorf("--%s: needs --workloads", flag)}
		}
		if o.daemon != "" {
			return o.runDaemon(cmd.Context(), cmd.Flags(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		}
		return o.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// slowStart is the time after which a start takes so long that the command shows the errors of the server.
const slowStart = 5 * time.Second

func (o *serveOptions) run(parent context.Context, in io.Reader, out, errOut io.Writer) error {
	if o.PrintVersion(out) {
		return nil
	}
	log := &logging.Quiet{To: errOut}
	if cli.IsTerminal(errOut) && !o.LogFormatGiven() {
		log.To = logging.People{To: errOut}
	}
	logTo := io.Writer(log)
	if o.Verbose() {
		logTo = errOut
	}
	if err := o.Begin(errOut, logTo); err != nil {
		return err
	}
	ready, err := o.newReady()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if o.workloads && o.Server.Behind.Enabled() {
		return cli.UsageError{Err: errors.New("--workloads: can't be given together with --behind, because the cluster runs workloads")}
	}
	if o.workloads {
		if o.runPods {
			if err := o.allowPods(errOut); err != nil {
				return err
			}
		}
		w, err := workloads.New(parent, o.workloadOptions)
		if err != nil {
			return cli.UsageError{Err: err}
		}
		w.AddTo(o.Server)
	}
	objects, err := kustomization.Load(parent, manifests.Reader{}, o.apply, in)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--apply: %w", err)}
	}
	if err := o.beginWith(manifests.AtStart(objects)); err != nil {
		return fmt.Errorf("--apply: %w", err)
	}
	ctx, cancel := launch.UntilSignal(parent)
	defer cancel()
	slow := time.AfterFunc(slowStart, log.Open)
	defer slow.Stop()
	context.AfterFunc(ctx, func() {
		slow.Stop()
		log.Close()
	})
	if err := ready.check(ctx); err != nil {
		return err
	}
	return o.Run(ctx, errOut, func(ctx context.Context, s *server.Server) error {
		if err := o.applyObjects(ctx, s, objects, errOut); err != nil {
			return fmt.Errorf("--apply: %w", err)
		}
		line, err := ready.tell(ctx, s)
		if err != nil {
			return err
		}
		log.Open()
		_, err = fmt.Fprintln(out, line)
		return err
	})
}

// workloadFlag returns the name of a given flag that only matters with --workloads, or "".
func workloadFlag(flags *pflag.FlagSet) string {
	for _, name := range []string{"nodes", "run-pods", "stages"} {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}

// ready is what the command does when the server is ready: it tells users how to reach the server.
type ready struct {
	// check returns an error if the command must not start.
	check func(context.Context) error
	// tell returns the line that the command prints.
	tell func(context.Context, *server.Server) (string, error)
}

// newReady returns what the command does when the server is ready. A server that stands alone has an admin, whose
// kubeconfig the command writes. The users of a server behind a cluster are those of the cluster.
func (o *serveOptions) newReady() (ready, error) {
	if cluster := o.Server.Behind; cluster.Enabled() {
		if o.kubeconfig != defaultKubeconfig {
			return ready{}, fmt.Errorf("--write-kubeconfig %s: can't be given together with --behind, because the users are those of the cluster: use the kubeconfig of the cluster", o.kubeconfig)
		}
		return ready{
			check: func(context.Context) error { return nil },
			tell: func(_ context.Context, s *server.Server) (string, error) {
				return fmt.Sprintf("miniapi is ready on https://%s, behind the cluster of %s", s.Address(), cli.Quoted(cluster.Kubeconfig)), nil
			},
		}, nil
	}
	file, err := kubeconfig.NewTarget(o.kubeconfig)
	if err != nil {
		return ready{}, err
	}
	return ready{
		check: func(ctx context.Context) error { return file.CheckUnused(ctx, "") },
		tell: func(ctx context.Context, s *server.Server) (string, error) {
			return fmt.Sprintf("miniapi is ready on https://%s: %s", s.Address(), cli.Exported("KUBECONFIG", file.Path)), file.Write(ctx, s.AdminConfig())
		},
	}, nil
}

// beginWith gives the definitions to the server before its start. This takes a third of the time that requests for the
// same definitions would take.
func (o *serveOptions) beginWith(definitions []manifests.Object) error {
	o.Server.Definitions.FieldManager = manifests.FieldManager
	for _, definition := range definitions {
		content, err := definition.Encoded()
		if err != nil {
			return err
		}
		o.Server.Definitions.JSON = append(o.Server.Definitions.JSON, content.JSON)
	}
	return nil
}

// applyObjects applies the objects of --apply, except for the definitions that the server already has from its start.
func (o *serveOptions) applyObjects(ctx context.Context, s *server.Server, objects []manifests.Object, errOut io.Writer) error {
	config := s.AdminConfig()
	if o.Server.Behind.Enabled() {
		config = s.OwnConfig()
	}
	config.Wrap(faults.Without)
	applier := manifests.Applier{Config: config, Warn: func(object manifests.Object, text string) {
		fmt.Fprintf(errOut, "Warning: %s: %s %s: %s\n", object.Source, object.GetKind(), object.GetName(), text)
	}}
	if o.skipUnknown {
		applier.SkipUnknown = func(object manifests.Object) {
			fmt.Fprintf(errOut, "Skipped: %s: %s %s: nothing serves the kind in %s\n", object.Source, object.GetKind(), object.GetName(), object.GetAPIVersion())
		}
	}
	definitions, there := manifests.AtStart(objects), map[*unstructured.Unstructured]bool{}
	for _, installed := range s.Installed() {
		definition := definitions[installed.Index]
		there[definition.Unstructured] = true
		applier.Tell(definition, installed.Warnings)
	}
	applier.There = func(object manifests.Object) bool { return there[object.Unstructured] }
	err := applier.Apply(ctx, objects)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%w: %s, or skip objects of unknown kinds by --apply-skip-unknown", err, howToServe(err))
	}
	return err
}

// howToServe says how the server gets a kind that it doesn't serve: by a flag if the kind is built in, and by its
// definition otherwise.
func howToServe(err error) string {
	var unserved *meta.NoKindMatchError
	if errors.As(err, &unserved) {
		for _, version := range unserved.SearchedVersions {
			if kind := unserved.GroupKind.WithVersion(version); builtin.Table().Scheme().Recognizes(kind) {
				return fmt.Sprintf("serve the version by --runtime-config=%s=true", kind.GroupVersion())
			}
		}
	}
	return "apply the definition of the kind too"
}
