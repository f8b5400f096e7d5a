package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/webhookcert"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// certOptions are the flags of "miniapi cert".
type certOptions struct {
	dir        string
	kubeconfig kubeconfig.Source
	server     *server.Options
}

func newCertCommand() *cobra.Command {
	o := &certOptions{server: server.NewOptions()}
	cmd := &cobra.Command{
		Use:   "cert NAMESPACE/SERVICE|HOST... [flags]",
		Short: "Issue a certificate for a webhook under development",
		Long: `Issue a certificate by the server's authority, for a webhook that is a service or a host,
and for localhost. The command writes tls.crt, tls.key and ca.crt. A service whose address
--webhook-service gives needs no caBundle then; elsewhere, ca.crt is the caBundle.

The server that the kubeconfig names issues it. With --data-dir or --cert-dir, the authority
that is kept there issues it, whether a server runs or not:

    miniapi cert default/my-webhook --dir certs
    miniapi cert default/my-webhook --dir certs --data-dir data`,
		Args: cli.UsageArgs(someNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs"), "Folder `DIR` to write to. The default is the folder in which controller-runtime looks.")
	o.kubeconfig.AddFlags(cmd, flags)
	flags.StringVar(&o.server.DataDir, "data-dir", "", "Data folder `DIR` whose authority issues the certificate, without a server.")
	flags.StringVar(&o.server.Serving.ServerCert.CertDirectory, "cert-dir", "", "Folder `DIR` of a server's --cert-dir whose authority issues the certificate, without a server.")
	return cmd
}

// someNames requires at least one name as an argument.
func someNames(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s: give the names for the certificate, as in %[1]s default/my-webhook", cmd.CommandPath())
	}
	return nil
}

func (o *certOptions) run(ctx context.Context, args []string, out io.Writer) error {
	names, hosts, err := webhookcert.NamesOf(args)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if o.dir == "" {
		return cli.UsageError{Err: errors.New("--dir must name a folder, for example certs")}
	}
	request, key, err := pki.NewRequest(names)
	if err != nil {
		return err
	}
	chain, err := o.issue(ctx, request)
	if err != nil {
		return err
	}
	files, err := webhookcert.New(chain, key)
	if err != nil {
		return fmt.Errorf("the certificate that was issued for %q: %w", args, err)
	}
	if err := files.Write(o.dir); err != nil {
		return fmt.Errorf("--dir %s: %w", o.dir, err)
	}
	_, err = fmt.Fprintf(out, "%s, %s and %s for %s are in %s\n", webhookcert.CertFile, webhookcert.KeyFile, webhookcert.CAFile, strings.Join(hosts, ", "), cli.Quoted(o.dir))
	return err
}

// issue returns a certificate for the request. The flags select the authority: the authority in a folder, or the
// authority of the running server. The returned chain ends with the certificate of the authority.
func (o *certOptions) issue(ctx context.Context, request []byte) (chain []byte, err error) {
	if o.server.DataDir == "" && o.server.Serving.ServerCert.CertDirectory == "" {
		return o.ask(ctx, request)
	}
	if o.kubeconfig != (kubeconfig.Source{}) {
		return nil, cli.UsageError{Err: fmt.Errorf("--kubeconfig %q and --context %q can't be used together with --data-dir or --cert-dir: leave them out, because either the server or the authority in the folder issues the certificate", o.kubeconfig.File, o.kubeconfig.Context)}
	}
	authority, err := o.server.KeptAuthority()
	if err != nil {
		return nil, err
	}
	return authority.ServingFor(request)
}

// ask requests the certificate from the running server.
func (o *certOptions) ask(ctx context.Context, request []byte) ([]byte, error) {
	server, err := o.kubeconfig.Server()
	if err != nil {
		return nil, fmt.Errorf("%w; or give the server's data folder by --data-dir", err)
	}
	chain, err := kubeconfig.Answer(ctx, server.Client.Post().AbsPath(keys.IssuePath).Body(request))
	if apierrors.IsNotFound(err) {
		return nil, server.Lacks(server.Host, "issues no certificates")
	}
	if err != nil {
		return nil, server.Wrap(err)
	}
	return chain, nil
}
