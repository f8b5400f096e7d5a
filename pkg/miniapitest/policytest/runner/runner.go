// Package runner runs the cases of test files on API servers, and compares what the servers do with what the cases expect.
// [Runner.Run] is the way in. "miniapi test" and package policytest call it.
//
// A case doesn't see the objects of another one: after each case, the server has the objects again that it had before the
// first one.
package runner

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
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
	// Recorded, if set, is called with each result, the installed objects, and the server's record of the request with the
	// branches of expressions, from several goroutines. The record is nil if the server has refused the request before
	// admission and authorization.
	Recorded func(result *Result, installed []manifests.Object, request *trace.Request)
	// Log, if set, is called with each line of the servers' logs and of the webhooks' programs.
	Log func(line string)
	// Keep keeps the servers for later calls of Run and Do, which are then faster. The caller must call Close.
	Keep bool

	// workers have the kept servers, of the process with these options.
	workers []*worker
	process string
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
	var results [][]*Result // by the job
	var errs []error
	var jobs []*Job
	for _, file := range files {
		cases, err := r.Plan(file)
		errs = append(errs, err)
		for _, part := range r.split(file, cases, len(files)) {
			at := len(jobs)
			results = append(results, nil)
			jobs = append(jobs, &Job{File: file, Cases: part, Do: func(ctx context.Context, s *Session) error {
				for _, planned := range part {
					if ctx.Err() != nil {
						return nil
					}
					result, err := s.Run(ctx, planned)
					if err != nil {
						return err
					}
					results[at] = append(results[at], result)
					if r.Done != nil {
						r.Done(result)
					}
				}
				return nil
			}})
		}
	}
	err := r.Do(ctx, jobs)
	return slices.Concat(results...), errors.Join(errors.Join(errs...), err)
}

// leastCases is the least number of cases for which another server is worth its start.
const leastCases = 100

// split returns the cases of a file in parts for several servers, if there are fewer files than servers. The cases of a file with
// webhooks are one part, so that each program is started once.
func (r *Runner) split(file *testfile.File, cases []*testfile.Planned, files int) (parts [][]*testfile.Planned) {
	servers := max(r.Parallel/files, 1)
	if len(file.Webhooks) > 0 {
		servers = 1
	}
	size := max(leastCases, (len(cases)+servers-1)/servers)
	for ; len(cases) > size; cases = cases[size:] {
		parts = append(parts, cases[:size])
	}
	if len(cases) > 0 {
		parts = append(parts, cases)
	}
	return parts
}

// Plan returns the selected cases of a file, with the objects that they name.
func (r *Runner) Plan(file *testfile.File) ([]*testfile.Planned, error) {
	all, err := file.Plan()
	if err != nil {
		return nil, err
	}
	selected := slices.DeleteFunc(all, func(p *testfile.Planned) bool {
		return r.Select != nil && !r.Select.MatchString(file.Title()+"/"+p.Name)
	})
	return selected, nil
}
