package runner

import (
	"context"
	"encoding/json"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// worker runs the cases of one file after the other. Files with the same options have the same server.
type worker struct {
	*Runner
	server  *server
	options string
}

// stop stops the server. An error of the stop doesn't change the results.
func (w *worker) stop() {
	if w.server != nil {
		_ = w.server.Stop()
		w.server = nil
	}
}

// ready returns a server for a file, as it is after its start.
func (w *worker) ready(ctx context.Context, file *testfile.File, audited bool) (*server, error) {
	options, err := json.Marshal([]any{file.Server, flagsOf(file), audited})
	if err != nil {
		return nil, err
	}
	if w.server != nil && w.options == string(options) && len(file.Webhooks)+len(w.server.webhooks.all) == 0 {
		return w.server, w.server.Restore(ctx, w.server.pristine)
	}
	w.stop()
	if w.server, err = w.start(ctx, file, audited); err != nil {
		return nil, err
	}
	w.options = string(options)
	return w.server, nil
}

// run runs the cases of a file.
func (w *worker) run(ctx context.Context, one *ran) error {
	server, err := w.ready(ctx, one.file, audited(one.planned))
	if err != nil {
		return &testfile.Error{File: one.file.Path, Err: err}
	}
	session, err := w.install(ctx, server, one.file)
	if err != nil {
		return err
	}
	for _, planned := range one.planned {
		if ctx.Err() != nil {
			return nil
		}
		result, err := session.Run(ctx, planned)
		if err != nil {
			return err
		}
		one.results = append(one.results, result)
		if w.Done != nil {
			w.Done(result)
		}
	}
	return nil
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
