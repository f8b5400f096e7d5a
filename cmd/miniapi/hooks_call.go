package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/hooks"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// hooksCallOptions are the flags of "miniapi hooks call".
type hooksCallOptions struct {
	kubeconfig kubeconfig.Source
	file       string
	handler    string
	namespace  string
	fields     []string
	settings   map[string]string
	output     output.Format
	services   services.Addresses
}

func newHooksCallCommand() *cobra.Command {
	o := &hooksCallOptions{services: services.Addresses{}}
	cmd := &cobra.Command{
		Use:   "call HOOK -f FILE [flags]",
		Short: "Call a hook for an object, and print what each extension answers",
		Long: `Call all handlers of a hook for an object, as Cluster API does, and print what each of them
answers and what comes of it. The file has the object, such as a Cluster, or the whole request.
The exit code is 1 if a handler fails.

A miniapi server makes the call. For another server, the command calls the extensions from this
machine. --webhook-service gives the address of a service, such as a port-forward, and has the
command make the call.`,
		Example: `  miniapi hooks call BeforeClusterCreate -f cluster.yaml
  miniapi hooks call BeforeClusterUpgrade -f cluster.yaml --field toKubernetesVersion=v1.37.2
  miniapi hooks call GeneratePatches -f request.yaml --handler patches.my-extension -o json
  miniapi hooks call DiscoverVariables -f request.yaml --namespace default`,
		Args: cli.UsageArgs(oneHook),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return hooks.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	o.kubeconfig.AddFlags(cmd, flags)
	flags.StringVarP(&o.file, "filename", "f", "", "`FILE` with the object or the request, in YAML or JSON; - is the standard input.")
	flags.StringVar(&o.handler, "handler", "", "Call this handler alone, `HANDLER.EXTENSIONCONFIG`.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "The `NAMESPACE` of the object for which the hook is called, if the file has a request without objects.")
	flags.StringArrayVar(&o.fields, "field", nil, "A further field of the request, `NAME=VALUE`. A value that is no JSON is a string. May be repeated.")
	flags.StringToStringVar(&o.settings, "setting", nil, "A setting of the request, `KEY=VALUE`. May be repeated.")
	o.output.AddFlag(cmd, "Print everything that was answered, as json or yaml.", output.JSON, output.YAML)
	flags.Var(o.services, "webhook-service", "Call the extensions of a service at an address, `NAMESPACE/NAME[:PORT]=HOST:PORT`. May be repeated.")
	return cmd
}

// oneHook requires the name of a hook as the only argument.
func oneHook(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one hook, as in %[1]s BeforeClusterCreate, got %q", cmd.CommandPath(), args)
	}
	return nil
}

func (o *hooksCallOptions) run(ctx context.Context, hook string, in io.Reader, out io.Writer) error {
	call, err := o.call(hook, in)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	config, err := o.kubeconfig.ClientConfig()
	if err != nil {
		return err
	}
	result, err := o.result(ctx, config, call)
	if err != nil {
		return o.kubeconfig.Explained(err)
	}
	err = o.output.Print(out, result, func(out io.Writer) error { return hooks.PrintResult(out, result) })
	if err == nil && result.Error != "" {
		err = errors.New(result.Error)
	}
	return err
}

// result calls the hook and returns the result. The running server makes the call if it is miniapi with runtime hooks,
// and no flag gives the address of a service. Otherwise this process makes the call.
func (o *hooksCallOptions) result(ctx context.Context, config *rest.Config, call hookclient.Call) (*hookclient.Result, error) {
	if len(o.services) == 0 {
		result, served, err := hooks.CallByServer(ctx, config, call)
		if apierrors.IsBadRequest(err) {
			return nil, cli.UsageError{Err: err}
		}
		if served {
			return result, err
		}
	}
	configs, err := hooks.Configs(ctx, config)
	if err != nil {
		return nil, err
	}
	caller, stop, err := hooks.NewClient(ctx, config, configs, o.services)
	if err != nil {
		return nil, err
	}
	defer stop()
	result, err := caller.Do(ctx, call)
	if err != nil {
		return nil, cli.UsageError{Err: err}
	}
	return result, nil
}

// call returns the call of the hook that the flags describe.
func (o *hooksCallOptions) call(hook string, in io.Reader) (hookclient.Call, error) {
	call := hookclient.Call{Hook: hook, Handler: o.handler, Namespace: o.namespace, Settings: o.settings, Fields: map[string]json.RawMessage{}}
	for _, field := range o.fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return call, fmt.Errorf("--field %q: must be NAME=VALUE", field)
		}
		if !json.Valid([]byte(value)) {
			quoted, err := json.Marshal(value)
			if err != nil {
				return call, err
			}
			value = string(quoted)
		}
		call.Fields[name] = json.RawMessage(value)
	}
	if o.file == "" {
		return call, errors.New("--filename must name a file with the object or the request: -f FILE")
	}
	data, err := readInput(o.file, in)
	if err == nil {
		call.Object, err = yaml.YAMLToJSON(data)
	}
	if err != nil {
		return call, fmt.Errorf("--filename %s: %w", o.file, err)
	}
	return call, nil
}
