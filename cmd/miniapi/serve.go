package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// serveOptions are the server's, and what this command adds to them.
type serveOptions struct {
	serverOptions
	kubeconfig string
	apply      []string
}

func newServeCommand() *cobra.Command {
	o := &serveOptions{serverOptions: newServerOptions(server.NewOptions())}
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve a Kubernetes API over an embedded etcd",
		Long: `Serve a Kubernetes API on 127.0.0.1:6443 over an embedded etcd.

It writes a kubeconfig for the admin, and prints one line when it is ready. Flags
have kube-apiserver's names wherever miniapi has the feature.`,
		Args: usageArgs(flagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	own := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	own.StringVar(&o.kubeconfig, "write-kubeconfig", "miniapi.kubeconfig", "Where the admin's kubeconfig is written.")
	own.StringArrayVar(&o.apply, "apply", nil, "File or folder of manifests to apply, in order, before the server says that it is ready. May be repeated.")
	o.addTo(cmd, own)
	return cmd
}

func (o *serveOptions) run(parent context.Context, out, errOut io.Writer) error {
	if o.version.writeTo(out) {
		return nil
	}
	log := &quietLog{to: errOut}
	logTo := io.Writer(log)
	if verbose(o.logs) {
		logTo = errOut
	}
	if err := o.begin(errOut, logTo); err != nil {
		return err
	}
	if o.kubeconfig == "" {
		return usageError{errors.New("--write-kubeconfig must name a file, for example the default, miniapi.kubeconfig")}
	}
	objects, err := manifests.Load(o.apply...)
	if err != nil {
		return usageError{fmt.Errorf("--apply: %w", err)}
	}
	ctx, cancel := untilSignal(parent)
	defer cancel()
	context.AfterFunc(ctx, log.close)
	return o.runServer(ctx, errOut, func(ctx context.Context, s *server.Server) error {
		if err := manifests.Apply(ctx, s.AdminConfig(), objects); err != nil {
			return fmt.Errorf("--apply: %w", err)
		}
		if err := writeKubeconfig(s.Kubeconfig(), o.kubeconfig); err != nil {
			return fmt.Errorf("--write-kubeconfig %s: %w", o.kubeconfig, err)
		}
		log.open()
		_, err := fmt.Fprintf(out, "miniapi is ready on https://%s: export KUBECONFIG=%s\n", s.Address(), quoted(o.kubeconfig))
		return err
	})
}

// writeKubeconfig writes for the owner alone. A file that is there would keep its mode, and others might
// read the admin's key in it; one that is somebody else's, or where modes are fixed, gives way to a new one.
func writeKubeconfig(config *clientcmdapi.Config, file string) error {
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err := os.Chmod(file, 0o600)
		if errors.Is(err, fs.ErrPermission) {
			err = os.Remove(file)
		}
		if err != nil {
			return err
		}
	}
	return clientcmd.WriteToFile(*config, file)
}
