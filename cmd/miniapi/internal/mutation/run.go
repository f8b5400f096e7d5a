// Package mutation changes installed policies, webhook configurations and rules of custom resource definitions, one operator,
// constant or selector at a time, and runs cases of tests with each change. A change that no case notices says what the cases
// don't test. [Reach] collects what the cases reach, and [Run] makes the changes.
//
// Messages aren't changed: cases would have to repeat them.
package mutation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/runner"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// atOnce is the number of mutations that a server gets before another server may take over, so that the servers end at
// nearly the same time.
const atOnce = 10

// Run makes the mutations of what files install, and runs the cases that may notice each. It returns the mutations that the
// server accepts, in the order of their places. Done, if set, is called with the number of mutations so far and of all, from
// several goroutines. The runner must have passed what it recorded to the reach, and all cases must have passed.
func Run(ctx context.Context, r *runner.Runner, files []*testfile.File, reach *Reach, done func(n, of int)) ([]*Mutation, error) {
	var sources source.Files
	of := map[string][]*Mutation{} // by the object
	var all []*Mutation
	var jobs []*runner.Job
	state := &state{done: done}
	for _, file := range files {
		known := reach.tests[testOf{file.Path, file.Title()}]
		if known == nil {
			continue // none of its cases is selected
		}
		cases, err := r.Plan(file)
		if err != nil {
			return nil, err
		}
		var own []*Mutation
		for _, object := range known.installed {
			key := object.File + " " + object.GetKind() + "/" + object.GetName()
			if _, made := of[key]; !made {
				of[key] = Of(&sources, object)
				all = append(all, of[key]...)
			}
			own = append(own, of[key]...)
		}
		for part := range slices.Chunk(own, atOnce) {
			jobs = append(jobs, &runner.Job{File: file, Cases: cases, Do: func(ctx context.Context, s *runner.Session) error {
				return state.try(ctx, s, file, known, cases, part)
			}})
		}
		state.all += len(own)
	}
	err := r.Do(ctx, jobs)
	all = slices.DeleteFunc(all, func(m *Mutation) bool { return m.refused })
	for _, m := range all {
		if !m.reached {
			m.Means = "no case is about it"
		}
	}
	slices.SortStableFunc(all, func(a, b *Mutation) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
	return all, err
}

// state is what the jobs of a run share.
type state struct {
	mu     sync.Mutex
	n, all int
	done   func(n, of int)
}

// try tries mutations on a server. It passes over those that another test has noticed. The cases whose requests are refused
// run first, because most mutations make a policy refuse less, and before them the one that has noticed the last mutation.
func (s *state) try(ctx context.Context, session *runner.Session, file *testfile.File, known *reached, cases []*testfile.Planned, mutations []*Mutation) error {
	cases = slices.Clone(cases)
	slices.SortStableFunc(cases, func(a, b *testfile.Planned) int { return rank(known.denied[a.Name]) - rank(known.denied[b.Name]) })
	for _, m := range mutations {
		if ctx.Err() != nil {
			return nil
		}
		s.mu.Lock()
		decided := m.Noticed != "" || m.refused
		s.mu.Unlock()
		if !decided {
			may := slices.DeleteFunc(slices.Clone(cases), func(c *testfile.Planned) bool { return !known.reaches(m, c.Name) })
			reached := len(may) > 0
			may = slices.DeleteFunc(may, func(c *testfile.Planned) bool { return !known.mayNotice(m, c.Name) })
			result, err := session.Notices(ctx, m.mutant, may)
			if err != nil && !errors.Is(err, runner.ErrRefused) {
				return err
			}
			s.mu.Lock()
			m.refused, m.reached = err != nil, m.reached || reached
			if result != nil {
				m.Noticed = file.Title() + "/" + result.Name
				at := slices.IndexFunc(cases, func(c *testfile.Planned) bool { return c.Name == result.Name })
				cases[0], cases[at] = cases[at], cases[0]
			}
			s.mu.Unlock()
		}
		s.mu.Lock()
		s.n++
		if s.done != nil {
			s.done(s.n, s.all)
		}
		s.mu.Unlock()
	}
	return nil
}

// rank returns the rank of a case by whether its request is refused.
func rank(denied bool) int {
	if denied {
		return 0
	}
	return 1
}

// Unnoticed returns the mutations that no case noticed.
func Unnoticed(all []*Mutation) []*Mutation {
	return slices.DeleteFunc(slices.Clone(all), func(m *Mutation) bool { return m.Noticed != "" })
}
