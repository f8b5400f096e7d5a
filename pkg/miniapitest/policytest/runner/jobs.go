package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// Job is work on a server with what a file installs.
type Job struct {
	File *testfile.File
	// Cases are the cases that Do is going to run.
	Cases []*testfile.Planned
	Do    func(ctx context.Context, session *Session) error
}

// Do does jobs on Parallel servers. It returns the errors of all jobs, in their order, and the cause of the context's end.
func (r *Runner) Do(ctx context.Context, jobs []*Job) error {
	if !r.Keep {
		defer r.Close()
	}
	errs := map[*Job]error{}
	var mu sync.Mutex
	// Servers of one process must agree on some options, so files with other options wait.
	for _, alike := range grouped(jobs) {
		next := make(chan *Job)
		var running sync.WaitGroup
		for _, w := range r.hire(min(max(r.Parallel, 1), len(alike)), alike[0].process()) {
			running.Add(1)
			go func() {
				defer running.Done()
				for job := range next {
					err := w.do(ctx, job)
					mu.Lock()
					errs[job] = err
					mu.Unlock()
				}
			}()
		}
		for _, job := range alike {
			next <- job
		}
		close(next)
		running.Wait()
	}
	var all []error
	for _, job := range jobs {
		err := errs[job]
		known := func(other error) bool { return err != nil && other != nil && other.Error() == err.Error() }
		if !slices.ContainsFunc(all, known) { // jobs of one file fail alike
			all = append(all, err)
		}
	}
	return errors.Join(append(all, context.Cause(ctx))...)
}

// hire returns n workers, first those whose servers earlier jobs have left. Servers of another process are stopped.
func (r *Runner) hire(n int, process string) []*worker {
	if r.process != process {
		r.Close()
	}
	r.process = process
	for _, w := range r.workers {
		if w.loaded {
			w.stop() // the captured objects may have changed
		}
	}
	for len(r.workers) < n {
		r.workers = append(r.workers, &worker{Runner: r})
	}
	return r.workers[:n]
}

// Close stops the servers that Keep has kept.
func (r *Runner) Close() {
	for _, w := range r.workers {
		w.stop()
	}
	r.workers = nil
}

// process returns a text that is equal for jobs whose servers can run at the same time in one process.
func (j *Job) process() string {
	return fmt.Sprint(j.File.Server.EmulatedVersion, j.File.Server.FeatureGates)
}

// grouped returns the jobs in groups whose servers can run at the same time in one process.
func grouped(jobs []*Job) [][]*Job {
	var groups [][]*Job
	byProcess := map[string]int{}
	for _, job := range jobs {
		key := job.process()
		at, known := byProcess[key]
		if !known {
			at = len(groups)
			byProcess[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], job)
	}
	return groups
}

// worker does one job after the other. Files with the same options have the same server.
type worker struct {
	*Runner
	server  *server
	options string
	// loaded is true if the server has captured objects from its start.
	loaded bool
	// last is the session of the last job, or nil.
	last *Session
}

// stop stops the server. An error of the stop doesn't change the results.
func (w *worker) stop() {
	if w.server != nil {
		_ = w.server.Stop()
		w.server, w.last = nil, nil
	}
}

// ready returns a server for a file, as it is after its start.
func (w *worker) ready(ctx context.Context, file *testfile.File, audited bool) (*server, error) {
	options, err := json.Marshal([]any{file.Server, flagsOf(file), audited})
	if err != nil {
		return nil, err
	}
	if w.server != nil && w.options == string(options) && len(file.Webhooks) == 0 && w.server.Restore(ctx, w.server.pristine) == nil {
		return w.server, nil
	}
	w.stop()
	if w.server, err = w.start(ctx, file, audited); err != nil {
		return nil, err
	}
	w.options, w.loaded = string(options), len(file.Load) > 0
	return w.server, nil
}

// do does a job.
func (w *worker) do(ctx context.Context, job *Job) error {
	if ctx.Err() != nil {
		return nil // the cause is reported once for all jobs
	}
	session, err := w.session(ctx, job)
	if len(job.File.Webhooks) > 0 {
		defer w.stop() // the programs end with the test
	}
	if err != nil {
		return err
	}
	return job.Do(ctx, session)
}

// session returns a server with what the file of a job installs. For jobs of the same file one after the other, it is installed
// once.
func (w *worker) session(ctx context.Context, job *Job) (*Session, error) {
	audited := audited(job.Cases)
	if s := w.last; s != nil && s.file == job.File && s.audited == audited && w.server.Restore(ctx, s.snapshot) == nil {
		return s, nil
	}
	w.last = nil
	server, err := w.ready(ctx, job.File, audited)
	if err != nil {
		return nil, placed(job.File, err)
	}
	session, err := w.install(ctx, server, job.File)
	if err != nil {
		return nil, err
	}
	session.audited, w.last = audited, session
	return session, nil
}

// audited tells whether a case needs audit events.
func audited(cases []*testfile.Planned) bool {
	for _, p := range cases {
		if len(p.Expect.AuditAnnotations) > 0 {
			return true
		}
	}
	return false
}
