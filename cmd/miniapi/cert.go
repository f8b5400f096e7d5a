package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// The files of a webhook's certificate. controller-runtime reads tls.crt and tls.key.
const (
	webhookCert = "tls.crt"
	webhookKey  = "tls.key"
	webhookCA   = "ca.crt"
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
		Long: `Issue a certificate by the server's authority, for a webhook that is a service or at a host,
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
	flags.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs"), "Folder to write to. The default is the folder in which controller-runtime looks.")
	o.kubeconfig.AddFlag(flags)
	flags.StringVar(&o.server.DataDir, "data-dir", "", "Data folder whose authority issues the certificate, without a server.")
	flags.StringVar(&o.server.Serving.ServerCert.CertDirectory, "cert-dir", "", "Folder of a server's --cert-dir whose authority issues the certificate, without a server.")
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
	names, err := certNames(args)
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
	certificates, err := certutil.ParseCertsPEM(chain)
	if err != nil {
		return fmt.Errorf("the certificate that was issued for %q: must be PEM: %w", args, err)
	}
	if err := o.checkReplaceable(certificates[0]); err != nil {
		return fmt.Errorf("--dir %s: %w", o.dir, err)
	}
	ca, err := certutil.EncodeCertificates(certificates[len(certificates)-1])
	if err != nil {
		return err
	}
	if err := o.write(chain, key, ca); err != nil {
		return fmt.Errorf("--dir %s: %w", o.dir, err)
	}
	_, err = fmt.Fprintf(out, "%s, %s and %s for %s are in %s\n", webhookCert, webhookKey, webhookCA, names.DNS[0], cli.Quoted(o.dir))
	return err
}

// certNames returns the host names and addresses of the arguments. For an argument NAMESPACE/SERVICE, it returns
// SERVICE.NAMESPACE.svc and SERVICE.NAMESPACE.svc.cluster.local. It adds localhost and the loopback addresses,
// because developers also call a webhook on their own machine.
func certNames(args []string) (pki.Names, error) {
	names := pki.Names{}
	for _, arg := range args {
		if ip := net.ParseIP(arg); ip != nil {
			names.IPs = append(names.IPs, ip)
			continue
		}
		namespace, service, isService := strings.Cut(arg, "/")
		host := arg
		if isService {
			host = service + "." + namespace + ".svc"
			names.DNS = append(names.DNS, host, host+".cluster.local")
		} else {
			names.DNS = append(names.DNS, host)
		}
		if wrong := validation.IsDNS1123Subdomain(host); len(wrong) > 0 || isService && (strings.Contains(namespace, ".") || strings.Contains(service, ".")) {
			return names, fmt.Errorf("%q: must be NAMESPACE/SERVICE, or a host name or an IP address without a port", arg)
		}
	}
	names.DNS = append(names.DNS, "localhost")
	names.IPs = append(names.IPs, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	return names, nil
}

// issue returns a certificate for the request. The flags select the authority: the authority in a folder, or the
// authority of the running server. The returned chain ends with the certificate of the authority.
func (o *certOptions) issue(ctx context.Context, request []byte) (chain []byte, err error) {
	if o.server.DataDir == "" && o.server.Serving.ServerCert.CertDirectory == "" {
		return o.ask(ctx, request)
	}
	if o.kubeconfig.File != "" {
		return nil, cli.UsageError{Err: fmt.Errorf("--kubeconfig %s can't be used together with --data-dir or --cert-dir: leave one of them out, because either the server or the authority in the folder issues the certificate", o.kubeconfig.File)}
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

// checkReplaceable returns an error if the folder has a certificate or key that miniapi hasn't made. A certificate is
// from miniapi if it has the same issuer name as the new certificate.
func (o *certOptions) checkReplaceable(issued *x509.Certificate) error {
	text, err := os.ReadFile(filepath.Join(o.dir, webhookCert))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, keyErr := os.Lstat(filepath.Join(o.dir, webhookKey))
	if err != nil && errors.Is(keyErr, fs.ErrNotExist) {
		return nil
	}
	if there, err := certutil.ParseCertsPEM(text); err == nil && bytes.Equal(there[0].RawIssuer, issued.RawIssuer) {
		return nil
	}
	return fmt.Errorf("%s or %s exists and isn't miniapi's: choose another folder, or remove the files", webhookCert, webhookKey)
}

func (o *certOptions) write(chain, key, ca []byte) error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		content []byte
		mode    fs.FileMode
	}{{webhookKey, key, 0o600}, {webhookCert, chain, 0o644}, {webhookCA, ca, 0o644}} {
		if err := pki.WriteFile(filepath.Join(o.dir, file.name), file.content, file.mode); err != nil {
			return err
		}
	}
	return nil
}
