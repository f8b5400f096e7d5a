// Package policytest runs the cases of test files in a Go test: what an API server with policies and webhooks does with
// requests. [Run] is the way in. The files are those of "miniapi test", which needs no Go test.
package policytest

import (
	"context"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/runner"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// Run runs the cases of the test files at a path, which is a file or a folder. Each file and each case is a subtest, so
// "go test -run" selects them. The options select the engine; the options of the servers are in the files. Run fails the
// test if a file can't be read.
func Run(t *testing.T, path string, opts ...miniapitest.Option) {
	t.Helper()
	engine, err := miniapitest.EngineOf(opts...)
	if err != nil {
		t.Fatalf("policytest: %v", err)
	}
	found, err := testfile.Find(path)
	if err != nil {
		t.Fatalf("policytest: %v", err)
	}
	r := &runner.Runner{Engine: engine}
	for _, file := range found {
		tests, err := testfile.Read(file)
		if err != nil {
			t.Errorf("policytest: %v", err)
		}
		for _, test := range tests {
			t.Run(test.Title(), func(t *testing.T) {
				t.Parallel()
				runFile(t, r, test)
			})
		}
	}
}

// runFile runs the cases of a file.
func runFile(t *testing.T, r *runner.Runner, file *testfile.File) {
	t.Helper()
	ctx := context.Background()
	cases, err := file.Plan()
	if err != nil {
		t.Fatal(err)
	}
	session, err := r.Open(ctx, file, cases)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("stopping the server: %v", err)
		}
	})
	for _, planned := range cases {
		t.Run(planned.Name, func(t *testing.T) {
			result, err := session.Run(ctx, planned)
			if err != nil {
				t.Fatal(err)
			}
			if !result.Passed() {
				t.Errorf("%s:%d\n%s\n\n%s", result.Path, result.Line, strings.Join(result.Lines(), "\n"), result.Timeline)
			}
		})
	}
}
