package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/component-base/logs"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/filewatch"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/logging"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/suite"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/testreport"
	"github.com/miniapi-dev/miniapi/pkg/inprocess/local"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/runner"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// testOptions are the flags of "miniapi test".
type testOptions struct {
	run      string
	parallel int
	verbose  bool
	update   bool
	watch    bool
	schema   bool
	output   output.Format
	against  againstOptions
	measures measureOptions
}

func newTestCommand() *cobra.Command {
	o := &testOptions{output: output.Format{Name: testreport.Text}}
	cmd := &cobra.Command{
		Use:   "test PATH... [flags]",
		Short: "Run the cases of admission policies and webhooks",
		Long: `Run the cases of test files: what an API server with policies and webhooks does with requests, beside what is
expected. A path is a test file, or a folder with test files: files with kind AdmissionTest of
test.miniapi.dev/v1alpha1. docs/test.md has the format.

The exit code is 0 if all cases pass, 1 if a case fails or fewer parts of policies are tested than --min-coverage and
--min-mutations require, and 2 if a case can't be run.`,
		Example: `  # Run the cases of all test files in a folder
  miniapi test policies/

  # Run some cases, and show what admission does with their requests
  miniapi test policies/ --run 'team/.*label' -v

  # Show what no case reaches, and which changes of the policies no case notices
  miniapi test policies/ --coverage --mutate

  # Mark the lines of failed cases in a GitHub workflow
  miniapi test policies/ -o github

  # Find which objects of a cluster the policies in a folder would refuse or change
  miniapi test policies/ --against ~/.kube/config`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.against.validate(args, cmd.Flags()); err != nil {
				return cli.UsageError{Err: err}
			}
			if o.against.source != "" {
				return o.against.judge(cmd.Context(), args, o.output.Name, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return o.runCommand(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.run, "run", "", "Run only the cases whose FILE/CASE matches this `REGEXP`.")
	flags.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "Run the cases of `N` test files at once, each on a server of its own.")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "Show each case, and what admission does with its request.")
	flags.BoolVar(&o.update, "update", false, "Write the actual objects to the files that expect.object names.")
	flags.BoolVar(&o.watch, "watch", false, "Run the cases of a test file again whenever a file that it depends on changes.")
	flags.BoolVar(&o.schema, "schema", false, "Print the JSON schema of test files, and run nothing.")
	o.against.addFlags(flags)
	o.measures.addFlags(flags)
	o.output.AddFlag(cmd, "Format of the report: "+strings.Join(testreport.Formats(), ", ")+".", testreport.Formats()...)
	return cmd
}

func (o *testOptions) runCommand(ctx context.Context, paths []string, out, errOut io.Writer) error {
	if o.schema {
		schema, err := testfile.Schema()
		if err == nil {
			_, err = out.Write(schema)
		}
		return err
	}
	selected, err := o.validate(paths)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if err := logging.Apply(logs.NewOptions(), &logging.Quiet{To: errOut}); err != nil {
		return err
	}
	ctx, stop := suite.UntilInterrupted(ctx)
	defer stop()
	r := &runner.Runner{Engine: &local.Engine{}, Parallel: o.parallel, Select: selected, Timelines: o.verbose, Keep: o.watch || o.measures.mutate}
	defer r.Close()
	if o.watch {
		return o.repeat(ctx, paths, r, out, errOut)
	}
	files, err := readTests(paths)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	return o.runFiles(ctx, files, r, out, errOut)
}

// repeat runs the cases of test files, and runs them again when a file that they depend on changes, until an interrupt.
func (o *testOptions) repeat(ctx context.Context, paths []string, r *runner.Runner, out, errOut io.Writer) error {
	watcher, err := filewatch.New()
	if err != nil {
		return err
	}
	defer watcher.Close() //nolint:errcheck // the watcher has no state to lose
	known, changed := map[string]bool{}, []string(nil)
	for ctx.Err() == nil {
		files, err := readTests(paths)
		if err := watcher.Add(dependencies(files, paths)...); err != nil {
			return err
		}
		var touched []*testfile.File
		for _, file := range files {
			if !known[file.Path] || slices.ContainsFunc(file.Paths(), func(path string) bool { return filewatch.Concerns(path, changed) }) {
				touched = append(touched, file)
			}
			known[file.Path] = true
		}
		if err == nil && len(touched) > 0 {
			err = o.runFiles(ctx, touched, r, out, errOut)
		}
		if ctx.Err() == nil && (err != nil || len(touched) > 0) {
			cli.Report(err, errOut)
			fmt.Fprintln(errOut, "waiting for a change of a file")
		}
		if changed, err = watcher.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// dependencies returns the paths that a change of test files can come from.
func dependencies(files []*testfile.File, paths []string) []string {
	all := slices.Clone(paths)
	for _, file := range files {
		all = append(all, file.Paths()...)
	}
	return all
}

// validate checks the values of the flags, and returns the expression that selects cases.
func (o *testOptions) validate(paths []string) (*regexp.Regexp, error) {
	if len(paths) == 0 {
		return nil, errors.New("give the paths of test files, or of folders with test files")
	}
	if o.parallel < 1 {
		return nil, fmt.Errorf("--parallel %d: must be at least 1", o.parallel)
	}
	if err := o.measures.validate(o.watch); err != nil {
		return nil, err
	}
	if o.run == "" {
		return nil, nil
	}
	selected, err := regexp.Compile(o.run)
	if err != nil {
		return nil, fmt.Errorf("--run: must be a regular expression: %w", err)
	}
	return selected, nil
}

// runFiles runs the cases of test files, and writes the report.
func (o *testOptions) runFiles(ctx context.Context, files []*testfile.File, r *runner.Runner, out, errOut io.Writer) error {
	began := time.Now()
	progress := progressOn(errOut)
	var done atomic.Int64
	r.Done = func(*runner.Result) { progress("%d cases", done.Add(1)) }
	measurement := o.measures.begin(r)
	results, failure := r.Run(ctx, files)
	if o.update {
		updated, err := runner.Update(results)
		for _, path := range updated {
			fmt.Fprintln(errOut, "updated", path)
		}
		failure = errors.Join(failure, err)
	}
	report := &testreport.Report{Results: results, Verbose: o.verbose, Colour: cli.IsTerminal(out)}
	if failure == nil {
		failure = measurement.end(ctx, files, report, progress)
	}
	report.Took = time.Since(began)
	progress("")
	if err := testreport.Write(out, o.output.Name, report); err != nil {
		return err
	}
	if err := measurement.write(); err != nil {
		return err
	}
	switch {
	case failure != nil:
		return cli.UsageError{Err: failure}
	case report.Broken() > 0:
		return cli.UsageError{Err: fmt.Errorf("%d of %d cases couldn't be run: the report has the reasons", report.Broken(), len(results))}
	case report.Failed() > 0 && o.measures.mutate:
		return fmt.Errorf("%d of %d cases failed, so no mutation was tried: --mutate needs cases that pass", report.Failed(), len(results))
	case report.Failed() > 0:
		return fmt.Errorf("%d of %d cases failed", report.Failed(), len(results))
	case len(results) == 0:
		return cli.UsageError{Err: fmt.Errorf("--run %q: must match a case: none of the files' cases matches", o.run)}
	}
	return o.measures.judge(report)
}

// progressOn returns a function that writes the state of the work to a terminal, in place of the state before, and clears it
// for "". For other writers, the function does nothing.
func progressOn(to io.Writer) func(format string, args ...any) {
	if !cli.IsTerminal(to) {
		return func(string, ...any) {}
	}
	return func(format string, args ...any) { fmt.Fprintf(to, "\r\x1b[K"+format, args...) }
}

// readTests reads the test files of paths.
func readTests(paths []string) ([]*testfile.File, error) {
	found, err := testfile.Find(paths...)
	if err != nil {
		return nil, err
	}
	var all []*testfile.File
	var errs []error
	for _, path := range found {
		files, err := testfile.Read(path)
		all = append(all, files...)
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}
