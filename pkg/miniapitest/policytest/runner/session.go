package runner

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/requests"
)

// Session is a server with what a file installs. Its cases may be run in any order, one at a time.
type Session struct {
	runner   *Runner
	file     *testfile.File
	server   *server
	requests requests.Server
	// objects are the installed objects, and snapshot is the server with them.
	objects  []manifests.Object
	snapshot engine.Snapshot
	// audited is true if the server reports audit events.
	audited bool
	// mutated is true while a mutant is in place of an installed object. Results then need no explanation.
	mutated bool
}

// Open starts a server for a file, and installs what the file names. The argument cases has the cases that the caller is
// going to run. The caller must call Close.
func (r *Runner) Open(ctx context.Context, file *testfile.File, cases []*testfile.Planned) (*Session, error) {
	server, err := r.start(ctx, file, audited(cases))
	if err != nil {
		return nil, placed(file, err)
	}
	session, err := r.install(ctx, server, file)
	if err != nil {
		_ = server.Stop() // the error of the installation says what is wrong
		return nil, err
	}
	return session, nil
}

// Close stops the server and the webhooks.
func (s *Session) Close() error { return s.server.Stop() }

// install installs what a file names on a server.
func (r *Runner) install(ctx context.Context, server *server, file *testfile.File) (*Session, error) {
	objects, err := file.Install(ctx)
	if err != nil {
		return nil, err
	}
	if err := (manifests.Applier{Config: server.setup}).Apply(ctx, objects); err != nil {
		return nil, refused(file, err)
	}
	if err := server.reach(ctx, file); err != nil {
		return nil, err
	}
	catalog, err := server.catalogWith(objects)
	if err != nil {
		return nil, file.Fail("installs", err)
	}
	snapshot, err := server.Snapshot(ctx)
	if err != nil {
		return nil, file.Fail("installs", err)
	}
	return &Session{
		runner: r, file: file, server: server, objects: objects, snapshot: snapshot,
		requests: requests.Server{Config: server.config, Setup: server.setup, Catalog: catalog},
	}, nil
}

// Run runs a case. The error says that the server can't run further cases. An error of the case itself is in the result.
func (s *Session) Run(ctx context.Context, planned *testfile.Planned) (*Result, error) {
	started := time.Now()
	result := &Result{File: s.file.Title(), Path: s.file.Path, Line: planned.Line, Name: planned.Name, file: s.file, planned: planned}
	s.request(ctx, result)
	if err := s.server.Restore(ctx, s.snapshot); err != nil {
		return nil, &testfile.Error{File: s.file.Path, Line: planned.Line, Err: fmt.Errorf("removing the objects of the case %q: %w", planned.Name, err)}
	}
	result.Took = time.Since(started)
	return result, nil
}

// impersonating returns a configuration whose requests are made as an admin whom webhooks and policies don't review.
func impersonating(config *rest.Config) *rest.Config {
	setup := rest.CopyConfig(config)
	setup.Impersonate = rest.ImpersonationConfig{UserName: exemptGroup, Groups: []string{"system:masters", exemptGroup}}
	return setup
}
