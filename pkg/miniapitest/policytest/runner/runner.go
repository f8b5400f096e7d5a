// Package runner runs the cases of test files on API servers, and compares what the servers do with what the cases expect.
// [Runner.Run] is the way in. "miniapi test" and package policytest call it.
//
// A case doesn't see the objects of another one: after each case, the server has the objects again that it had before the
// first one.
package runner

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// Runner runs test files.
type Runner struct {
	// Engine runs the servers.
	Engine engine.Engine
	// Parallel is the number of servers that run at the same time; 0 stands for 1.
	Parallel int
	// Select selects the cases by their names, as FILE/CASE with the title of the file; nil selects all.
	Select *regexp.Regexp
	// Timelines makes every result have its timeline. Otherwise, only failed cases have one.
	Timelines bool
	// Done, if set, is called with each result, from several goroutines.
	Done func(*Result)
	// Log, if set, is called with each line of the servers' logs and of the webhooks' programs.
	Log func(line string)
}

// Result is the result of a case.
type Result struct {
	// File is the title of the test, and Path and Line the place of the case.
	File string `json:"file"`
	Path string `json:"path"`
	Line int    `json:"line"`
	Name string `json:"name"`
	// Took is the time of the case, with the objects that it needs.
	Took time.Duration `json:"took"`
	// Err is the error of a case that couldn't be run, or nil.
	Err error `json:"-"`
	// Findings are the differences from what the case expects.
	Findings []Finding `json:"findings,omitempty"`
	// Why are sentences about the policies and webhooks that matter for the findings.
	Why []string `json:"why,omitempty"`
	// Timeline is what admission did with the request, as a text.
	Timeline string `json:"timeline,omitempty"`

	file    *testfile.File
	planned *testfile.Planned
	// object is the object of the response, or nil.
	object map[string]any
}

// Finding is a difference from what a case expects.
type Finding struct {
	// Field is the field of expect.
	Field string `json:"field"`
	// Want and Got are the expected and the actual value. For an object, Diff has the differences instead: lines that
	// begin with "-" for the expected, with "+" for the actual, and with "~" for both.
	Want string   `json:"want,omitempty"`
	Got  string   `json:"got,omitempty"`
	Diff []string `json:"diff,omitempty"`
}

// Passed tells whether the case was run and nothing differs.
func (r *Result) Passed() bool { return r.Err == nil && len(r.Findings) == 0 }

// Lines returns the lines of a result that didn't pass: what differs, and why.
func (r *Result) Lines() []string {
	var lines []string
	if r.Err != nil {
		lines = append(lines, "couldn't be run: "+r.Err.Error())
	}
	for _, f := range r.Findings {
		if len(f.Diff) == 0 {
			lines = append(lines, f.Field+":", "  - "+f.Want, "  + "+f.Got)
			continue
		}
		lines = append(lines, f.Field+" (- expected, + actual):")
		for _, line := range f.Diff {
			lines = append(lines, "  "+line)
		}
	}
	return append(lines, r.Why...)
}

// Run runs the cases of files, and returns the results in the order of the files. The error joins the errors of files whose
// cases couldn't be run.
func (r *Runner) Run(ctx context.Context, files []*testfile.File) ([]*Result, error) {
	all := make([]*ran, len(files))
	for i, file := range files {
		all[i] = &ran{file: file}
		all[i].err = all[i].plan(ctx, r.Select)
	}
	// Servers of one process must agree on some options, so files with other options wait.
	for _, alike := range grouped(all) {
		r.runAlike(ctx, alike)
	}
	var results []*Result
	var errs []error
	for _, one := range all {
		results = append(results, one.results...)
		errs = append(errs, one.err)
	}
	return results, errors.Join(append(errs, context.Cause(ctx))...)
}

// ran is a file with its plan and its results.
type ran struct {
	file    *testfile.File
	planned []*testfile.Planned
	results []*Result
	err     error
}

// plan reads the objects of the file's cases, and keeps the selected cases.
func (one *ran) plan(ctx context.Context, selected *regexp.Regexp) error {
	planned, err := one.file.Plan()
	if err != nil {
		return err
	}
	for _, p := range planned {
		if selected == nil || selected.MatchString(one.file.Title()+"/"+p.Name) {
			one.planned = append(one.planned, p)
		}
	}
	return context.Cause(ctx)
}

// grouped returns the files with cases, in groups whose servers can run at the same time in one process.
func grouped(all []*ran) [][]*ran {
	var groups [][]*ran
	byProcess := map[string]int{}
	for _, one := range all {
		if one.err != nil || len(one.planned) == 0 {
			continue
		}
		key := processKey(one.file)
		at, known := byProcess[key]
		if !known {
			at = len(groups)
			byProcess[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], one)
	}
	return groups
}

// processKey returns a text that is equal for files whose servers can run at the same time in one process.
func processKey(f *testfile.File) string {
	return fmt.Sprint(f.Server.EmulatedVersion, f.Server.FeatureGates)
}

// runAlike runs the cases of files, each on one of Parallel servers.
func (r *Runner) runAlike(ctx context.Context, all []*ran) {
	next := make(chan *ran)
	var running sync.WaitGroup
	for range min(max(r.Parallel, 1), len(all)) {
		running.Add(1)
		go func() {
			defer running.Done()
			w := &worker{Runner: r}
			for one := range next {
				one.err = errors.Join(w.run(ctx, one), context.Cause(ctx))
			}
			w.stop()
		}()
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	running.Wait()
}
