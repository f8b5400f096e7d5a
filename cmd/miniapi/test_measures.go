package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/coverage"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/mutation"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/testreport"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/runner"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// measureOptions are the flags of "miniapi test" that measure how good the cases are.
type measureOptions struct {
	coverage     bool
	coverageOut  []string
	minCoverage  float64
	mutate       bool
	minMutations float64
}

func (o *measureOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.coverage, "coverage", false, "Show which rules, conditions and expressions of policies no case reaches.")
	flags.StringArrayVar(&o.coverageOut, "coverage-out", nil, "Write the coverage to `FILE`, which ends with "+coverage.Formats+". Repeatable.")
	flags.Float64Var(&o.minCoverage, "min-coverage", 0, "Fail if the cases reach less than `PERCENT` of the policies.")
	flags.BoolVar(&o.mutate, "mutate", false, "If all cases pass, change the policies, one operator, constant or selector at a time, and show the changes that no case notices.")
	flags.Float64Var(&o.minMutations, "min-mutations", 0, "With --mutate, fail if the cases notice less than `PERCENT` of the changes.")
}

// validate checks the values of the flags. The argument watch is the value of --watch.
func (o *measureOptions) validate(watch bool) error {
	for flag, percent := range map[string]float64{"--min-coverage": o.minCoverage, "--min-mutations": o.minMutations} {
		if !(percent >= 0 && percent <= 100) { // NaN is neither
			return fmt.Errorf("%s %v: must be a percentage from 0 to 100", flag, percent)
		}
	}
	switch {
	case o.minMutations > 0 && !o.mutate:
		return fmt.Errorf("--min-mutations %v: give --mutate too, which makes the changes", o.minMutations)
	case o.mutate && watch:
		return errors.New("--mutate and --watch: give one of them, because the changes take longer than an edit")
	}
	for _, path := range o.coverageOut {
		if coverage.Writer(path) == nil {
			return fmt.Errorf("--coverage-out %s: must end with %s", path, coverage.Formats)
		}
		file, err := os.Create(path) // before the cases, which may take long
		if err != nil {
			return fmt.Errorf("--coverage-out %s: must be a file that can be written: %w", path, err)
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("--coverage-out %s: %w", path, err)
		}
	}
	return nil
}

// covers reports whether the coverage is measured.
func (o *measureOptions) covers() bool {
	return o.coverage || len(o.coverageOut) > 0 || o.minCoverage > 0
}

// measurement is what the cases of a run reach.
type measurement struct {
	*measureOptions
	runner  *runner.Runner
	covered *coverage.Coverage
	reach   *mutation.Reach
}

// begin makes the runner tell what the cases reach, if a flag asks for it.
func (o *measureOptions) begin(r *runner.Runner) *measurement {
	m := &measurement{o, r, coverage.New(), &mutation.Reach{}}
	if o.covers() || o.mutate {
		r.Recorded = func(result *runner.Result, installed []manifests.Object, request *trace.Request) {
			m.covered.Add(installed, request)
			m.reach.Add(result, installed, request)
		}
	}
	return m
}

// end adds the measures to the report. If all cases have passed, it makes the mutations.
func (m *measurement) end(ctx context.Context, files []*testfile.File, report *testreport.Report, progress func(string, ...any)) error {
	if m.covers() {
		report.Coverage, report.Uncovered = m.covered.Points(), m.coverage
	}
	if !m.mutate || report.Failed() > 0 {
		return nil
	}
	var err error
	report.Mutations, err = mutation.Run(ctx, m.runner, files, m.reach, func(n, of int) { progress("%d of %d mutations", n, of) })
	report.Mutated = err == nil
	return err
}

// write writes the files of --coverage-out.
func (m *measurement) write() error {
	for _, path := range m.coverageOut {
		if err := m.covered.Write(path); err != nil {
			return fmt.Errorf("--coverage-out %s: %w", path, err)
		}
	}
	return nil
}

// judge returns an error if a measure of the report is less than its flag requires.
func (o *measureOptions) judge(report *testreport.Report) error {
	var errs []error
	if got := report.CoveragePercent(); got < o.minCoverage {
		errs = append(errs, fmt.Errorf("--min-coverage %v: coverage is %.1f %%: --coverage shows what no case reaches", o.minCoverage, got))
	}
	if got := report.MutationPercent(); got < o.minMutations {
		errs = append(errs, fmt.Errorf("--min-mutations %v: the cases notice %.1f %% of the mutations: the report shows the others", o.minMutations, got))
	}
	return errors.Join(errs...)
}
