package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/incluster"
	"github.com/miniapi-dev/miniapi/pkg/conformance/report"
)

func newConformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Judge an API server or an admission webhook by the promises of Kubernetes",
		Args:  cli.UsageArgs(cli.KnownSubcommand),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(newConformanceAPIServerCommand(), newConformanceWebhookCommand(), newConformanceRelayCommand())
	return cmd
}

// conformanceOptions are the flags that "miniapi conformance apiserver" and "miniapi conformance webhook" share.
type conformanceOptions struct {
	run     conformance.Options
	list    bool
	output  string
	reports []string
}

func (o *conformanceOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.run.Selection.Only, "only", nil, "Run the cases whose identifiers match one of these `globs`, such as review.* or *.dryRun*.")
	flags.StringSliceVar(&o.run.Selection.Skip, "skip", nil, "Don't run the cases whose identifiers match one of these `globs`.")
	flags.BoolVar(&o.list, "list", false, "List the cases, with their promises and sources, and run none.")
	flags.IntVar(&o.run.Parallel, "parallel", conformance.DefaultParallel, "How many cases run at once.")
	flags.StringVarP(&o.output, "output", "o", "text", "Format of the report: "+strings.Join(report.Formats(), ", ")+".")
	flags.StringArrayVar(&o.reports, "report", nil, "Also write a report to a file, by `FORMAT=FILE` as in junit=conformance.xml. May be repeated.")
}

// validate checks the values of the flags, and joins all errors that it finds.
func (o *conformanceOptions) validate() error {
	errs := []error{o.run.Validate()}
	if !slices.Contains(report.Formats(), o.output) {
		errs = append(errs, fmt.Errorf("--output %q: must be one of %s", o.output, strings.Join(report.Formats(), ", ")))
	}
	for _, r := range o.reports {
		format, file, _ := strings.Cut(r, "=")
		if file == "" || !slices.Contains(report.Formats(), format) {
			errs = append(errs, fmt.Errorf("--report %q: must be FORMAT=FILE, with a format of %s", r, strings.Join(report.Formats(), ", ")))
			continue
		}
		errs = append(errs, validateReportFile(file))
	}
	if o.list && !slices.Contains(listFormats, o.output) {
		errs = append(errs, fmt.Errorf("--list with --output %q: must be one of %s", o.output, strings.Join(listFormats, ", ")))
	}
	return errors.Join(errs...)
}

// listFormats are the formats of a list of cases.
var listFormats = []string{"markdown", "text"}

// validateReportFile returns an error if the folder of a report's file doesn't exist, or if the file is a folder. The
// command calls validateReportFile before the first case, because a run takes minutes.
func validateReportFile(file string) error {
	folder, err := os.Stat(filepath.Dir(file))
	if err != nil || !folder.IsDir() {
		return fmt.Errorf("--report %s: %s must be a folder that exists", file, filepath.Dir(file))
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("--report %s: must be a file, and is a folder", file)
	}
	return nil
}

// conformanceAPIServerOptions are the flags of "miniapi conformance apiserver".
type conformanceAPIServerOptions struct {
	conformanceOptions
	kubeconfig kubeconfig.Source
	target     trial.Options
	cleanup    bool
	role       bool
}

func newConformanceAPIServerCommand() *cobra.Command {
	o := &conformanceAPIServerOptions{}
	cmd := &cobra.Command{
		Use:   "apiserver [flags]",
		Short: "Judge an API server: its admission, and what clients rely on beside it",
		Long: `Judge an API server: its admission, and what clients rely on beside it.

The cases use namespaces of their own, and webhooks and policies that concern these alone. They remove what they
made, also after SIGINT, SIGTERM or SIGHUP. The server calls webhooks of this process, so it must reach --webhook-address. A server in
a cluster that can't reaches them by --webhook-image.

The exit code is 0 if no case failed, 1 if a case failed, and 2 if the command line is wrong or the server can't be
reached. docs/conformance.md has the promises and the permissions that the cases need.`,
		Example: `  # Judge a server on this machine
  miniapi conformance apiserver --kubeconfig miniapi.kubeconfig

  # Judge a server in a cluster, which can't connect to this machine
  miniapi conformance apiserver --kubeconfig ~/.kube/config --webhook-image miniapi:dev

  # Make a service account that may run the cases
  miniapi conformance apiserver --rbac | kubectl apply -f -

  # Judge its dry runs alone, and write a report for continuous integration
  miniapi conformance apiserver --only '*.dryRun*' --report junit=conformance.xml`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilInterrupted(cmd.Context())
			defer stop()
			return o.runCommand(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.addFlags(cmd)
	o.kubeconfig.AddFlag(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.target.WebhookAddress, "webhook-address", "", "`HOST:PORT` where the webhooks of the cases listen. The API server must reach it; port 0 is a free one. (default \"127.0.0.1:0\")")
	flags.StringVar(&o.target.WebhookImage, "webhook-image", "", "`Image` of miniapi. With one, the cases' webhooks are called in the cluster: by a Deployment, which carries the calls to this process.")
	flags.DurationVar(&o.target.WebhookTimeout, "webhook-timeout", incluster.DefaultTimeout, "How long the Deployment of --webhook-image may take to be ready.")
	flags.StringVar(&o.target.AuditLog, "audit-log", "", "The `file` that the server writes audit events to, at the level RequestResponse. Cases about audit events need it.")
	flags.BoolVar(&o.target.Disposable, "disposable-server", false, "Also run cases that could harm other users of the server.")
	flags.BoolVar(&o.cleanup, "cleanup", false, "Remove what killed runs have left on the server, and run no case. It also ends runs that are going on.")
	flags.BoolVar(&o.role, "rbac", false, "Print manifests of a service account with the permissions that the selected cases need, and run no case.")
	return cmd
}

func (o *conformanceAPIServerOptions) runCommand(ctx context.Context, out, progress io.Writer) error {
	if err := o.validate(); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.role {
		return o.printRole(out)
	}
	if o.list && o.kubeconfig.File == "" {
		cases, err := apiserver.Cases(nil)
		if err != nil {
			return err
		}
		return o.listAdapted(out, cases)
	}
	var err error
	if o.target.Config, err = o.kubeconfig.ClientConfig(); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.cleanup {
		return o.removeRuns(ctx, out)
	}
	if o.list {
		return o.listServed(ctx, out)
	}
	if o.target.AuditLog != "" {
		if _, err := os.Stat(o.target.AuditLog); err != nil {
			return cli.UsageError{Err: fmt.Errorf("--audit-log %q: must be the file of the server's --audit-log-path: %w", o.target.AuditLog, err)}
		}
	}
	if o.target.WebhookImage != "" {
		fmt.Fprintf(progress, "starting the webhooks of the cases in the cluster, from the image %s\n", o.target.WebhookImage)
	}
	// An interrupt may also end the reader of the output. Then a write must fail, and not end the process: the cases still
	// have to remove their objects.
	signal.Ignore(syscall.SIGPIPE)
	server, cases, err := apiserver.Start(ctx, o.target, o.run.Selection)
	if err != nil {
		return cli.UsageError{Err: o.kubeconfig.Explained(err)}
	}
	o.run.Selection = apiserver.Adapted(o.run.Selection, cases)
	suite := fmt.Sprintf("API server %s, Kubernetes %d.%d", o.target.Config.Host, server.Major, server.Minor)
	return errors.Join(o.judge(ctx, suite, cases, out, progress), server.Unreached(), server.Close(ctx))
}

// removeRuns removes the objects of all runs on the server, and prints the paths of the objects. A run that is going on
// loses its objects too. The user must have the permissions that the selected cases need, because without them
// removeRuns would find no objects.
func (o *conformanceAPIServerOptions) removeRuns(ctx context.Context, out io.Writer) error {
	server, _, err := apiserver.Connect(ctx, o.target, o.run.Selection)
	if err != nil {
		return cli.UsageError{Err: o.kubeconfig.Explained(err)}
	}
	removed, err := server.Cleanup(ctx)
	for _, path := range removed {
		fmt.Fprintln(out, path, "removed")
	}
	return err
}

// listServed lists the selected cases that apply to the running server.
func (o *conformanceAPIServerOptions) listServed(ctx context.Context, out io.Writer) error {
	server, err := trial.Connect(ctx, o.target)
	if err != nil {
		return cli.UsageError{Err: o.kubeconfig.Explained(err)}
	}
	cases, err := apiserver.Cases(server)
	if err != nil {
		return err
	}
	return o.listAdapted(out, cases)
}

func (o *conformanceAPIServerOptions) listAdapted(out io.Writer, cases []conformance.Case) error {
	o.run.Selection = apiserver.Adapted(o.run.Selection, cases)
	return o.listCases(out, cases)
}

// printRole prints a role with the permissions that the selected cases need, and a service account that has the role.
func (o *conformanceAPIServerOptions) printRole(out io.Writer) error {
	cases, err := apiserver.Cases(nil)
	if err != nil {
		return err
	}
	selection := apiserver.Adapted(o.run.Selection, cases)
	if err := selection.Check(cases); err != nil {
		return cli.UsageError{Err: err}
	}
	role, err := apiserver.Role(apiserver.PermissionsOf(selection.Of(cases)))
	if err != nil {
		return err
	}
	_, err = out.Write(role)
	return err
}

// judge runs the cases of a suite, and writes the reports.
func (o *conformanceOptions) judge(ctx context.Context, suite string, cases []conformance.Case, out, progress io.Writer) error {
	o.run.Progress = func(p conformance.Progress) {
		fmt.Fprintf(progress, "[%d/%d] %-7s %s (%v; about %v left)\n", p.Done, p.All, p.Last.Status, p.Last.ID,
			p.Last.Took.Round(time.Millisecond), p.Left.Round(time.Second))
	}
	began := time.Now()
	results, err := conformance.Run(ctx, cases, o.run)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	run := &report.Run{Suite: suite, Results: results, Took: time.Since(began)}
	errs := []error{report.Write(out, o.output, run)}
	for _, r := range o.reports {
		format, file, _ := strings.Cut(r, "=")
		errs = append(errs, writeReport(file, format, run))
	}
	if n := results.Count(conformance.Failed); n > 0 {
		errs = append(errs, fmt.Errorf("%d of %d cases failed: the report has their findings", n, len(results)))
	}
	if ctx.Err() != nil {
		errs = append(errs, errors.New("the run was interrupted: the report has the remaining cases as skipped"))
	}
	return errors.Join(errs...)
}

func writeReport(file, format string, run *report.Run) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--report %s: %w", file, err)
	}
	return errors.Join(report.Write(f, format, run), f.Close())
}

// listCases prints the selected cases: as a table for a document if the format is markdown, and as text otherwise.
func (o *conformanceOptions) listCases(out io.Writer, all []conformance.Case) error {
	if err := o.run.Selection.Check(all); err != nil {
		return cli.UsageError{Err: err}
	}
	cases := o.run.Selection.Of(all)
	if o.output == "markdown" {
		return report.Promises(out, cases)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "CASE\tPROMISE\tSOURCE")
	for i := range cases {
		fmt.Fprintf(table, "%s\t%s\t%s\n", cases[i].ID, cases[i].Promise, cases[i].Source)
	}
	return table.Flush()
}
