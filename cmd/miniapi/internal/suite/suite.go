// Package suite has the common parts of the commands that run conformance cases: the flags, the list of cases, the run
// with its progress and its reports, and the end of a run by an interrupt. [Options] is the way in.
//
// Don't use the package in a Go test: pkg/conformance/conformancetest runs cases there.
package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/complete"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/report"
	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// Options are the flags that select, run, list and report the cases of a suite.
type Options struct {
	Run conformance.Options
	// List lists the cases, and runs none.
	List bool
	// Coverage tells what the cases are about, for reports. It is nil if the cases say everything.
	Coverage fmt.Stringer
	output   output.Format
	reports  []string
}

// AddFlags adds the flags to a command. The function known returns the cases whose identifiers complete --only and --skip.
func (o *Options) AddFlags(cmd *cobra.Command, known func(context.Context) []conformance.Case) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Run.Selection.Only, "only", nil, "Run the cases whose identifiers match one of these `GLOBS`, such as review.* or *.dryRun*.")
	flags.StringSliceVar(&o.Run.Selection.Skip, "skip", nil, "Don't run the cases whose identifiers match one of these `GLOBS`.")
	flags.BoolVar(&o.List, "list", false, "List the cases, with their promises and sources, and run none.")
	flags.IntVar(&o.Run.Parallel, "parallel", conformance.DefaultParallel, "Run `N` cases at once.")
	o.output.Name = "text"
	o.output.AddFlag(cmd, fmt.Sprintf("Format of the report: %s. With --list: %s.", strings.Join(report.Formats(), ", "), strings.Join(listFormats, ", ")), formats()...)
	flags.StringArrayVar(&o.reports, "report", nil, "Also write a report to a file, by `FORMAT=FILE` as in junit=conformance.xml. May be repeated.")
	identifiers := complete.List(func(ctx context.Context) []string {
		var all []string
		for _, c := range known(ctx) {
			all = append(all, c.ID)
		}
		return all
	})
	for _, flag := range []string{"only", "skip"} {
		// RegisterFlagCompletionFunc fails only for unknown flags.
		_ = cmd.RegisterFlagCompletionFunc(flag, identifiers)
	}
}

// formats returns the formats of reports and of lists.
func formats() []string {
	all := append(report.Formats(), listFormats...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Validate checks the values of the flags, and joins all errors that it finds.
func (o *Options) Validate() error {
	errs := []error{o.Run.Validate()}
	if !o.List && !slices.Contains(report.Formats(), o.output.Name) {
		errs = append(errs, fmt.Errorf("--output %q: must be one of %s without --list", o.output.Name, strings.Join(report.Formats(), ", ")))
	}
	for _, r := range o.reports {
		format, file, _ := strings.Cut(r, "=")
		if file == "" || !slices.Contains(report.Formats(), format) {
			errs = append(errs, fmt.Errorf("--report %q: must be FORMAT=FILE, with a format of %s", r, strings.Join(report.Formats(), ", ")))
			continue
		}
		if err := files.Replaceable(file); err != nil {
			errs = append(errs, fmt.Errorf("--report %s: %w", file, err))
		}
	}
	if o.List && !slices.Contains(listFormats, o.output.Name) {
		errs = append(errs, fmt.Errorf("--list with --output %q: must be one of %s", o.output.Name, strings.Join(listFormats, ", ")))
	}
	return errors.Join(errs...)
}

// listFormats are the formats of a list of cases.
var listFormats = []string{output.JSON, "markdown", "text", output.YAML}

// Judge runs the cases of a suite, and writes the reports.
func (o *Options) Judge(ctx context.Context, suite string, cases []conformance.Case, out, progress io.Writer) error {
	o.Run.Progress = func(p conformance.Progress) {
		fmt.Fprintf(progress, "[%d/%d] %-7s %s (%v; about %v left)\n", p.Done, p.All, p.Last.Status, p.Last.ID,
			p.Last.Took.Round(time.Millisecond), p.Left.Round(time.Second))
	}
	began := time.Now()
	results, err := conformance.Run(ctx, cases, o.Run)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	run := &report.Run{Suite: suite, Results: results, Took: time.Since(began), Coverage: o.Coverage}
	errs := []error{report.Write(out, o.output.Name, run)}
	for _, r := range o.reports {
		format, file, _ := strings.Cut(r, "=")
		if err := writeReport(file, format, run); err != nil {
			errs = append(errs, fmt.Errorf("--report %s: %w", file, err))
		}
	}
	if n := results.Count(conformance.Failed); n > 0 {
		errs = append(errs, fmt.Errorf("%d of %d cases failed: the report has their findings", n, len(results)))
	}
	if ctx.Err() != nil {
		errs = append(errs, errors.New("the run was interrupted: the report has the remaining cases as skipped"))
	}
	return errors.Join(errs...)
}

// writeReport writes a report in a format to a file, and replaces the file if it exists.
func writeReport(file, format string, run *report.Run) error {
	var text bytes.Buffer
	if err := report.Write(&text, format, run); err != nil {
		return err
	}
	return files.Replace(file, text.Bytes(), 0o644)
}

// listedCase is a case in a list of the format json or yaml.
type listedCase struct {
	ID      string `json:"id"`
	Promise string `json:"promise"`
	Source  string `json:"source"`
}

// PrintCases prints the selected cases: as a table for a document if the format is markdown, and as text by default.
func (o *Options) PrintCases(out io.Writer, all []conformance.Case) error {
	if err := o.Run.Selection.Check(all); err != nil {
		return cli.UsageError{Err: err}
	}
	cases := o.Run.Selection.Of(all)
	if o.output.Name == "markdown" {
		return report.Promises(out, cases)
	}
	listed := make([]listedCase, len(cases))
	for i := range cases {
		listed[i] = listedCase{cases[i].ID, cases[i].Promise, cases[i].Source}
	}
	return o.output.Print(out, listed, func(out io.Writer) error {
		table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(table, "CASE\tPROMISE\tSOURCE")
		for _, c := range listed {
			fmt.Fprintf(table, "%s\t%s\t%s\n", c.ID, c.Promise, c.Source)
		}
		return table.Flush()
	})
}
