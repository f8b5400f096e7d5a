package miniapitest_test

import (
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Main gives the tests of a package one server.
func TestMainRuns(t *testing.T) {
	t.Parallel()
	var srv *miniapitest.Server
	code := miniapitest.Main(runs(func() int {
		if _, err := srv.Client().CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		return 7
	}), &srv)
	if code != 7 {
		t.Errorf("want the code of the tests, got %d", code)
	}
	if _, err := os.Stat(srv.KubeconfigFile()); !os.IsNotExist(err) {
		t.Errorf("want the server's files to be gone, got %v", err)
	}
}

// Without its server, Main runs no test.
func TestMainFails(t *testing.T) {
	t.Parallel()
	var srv *miniapitest.Server
	code := miniapitest.Main(runs(func() int {
		t.Error("the tests were run")
		return 0
	}), &srv, miniapitest.WithManifests("testdata/none"))
	if code != 1 || srv != nil {
		t.Errorf("want code 1 and no server, got %d and %v", code, srv)
	}
}

// Main reports a missing argument.
func TestMainNeeds(t *testing.T) {
	t.Parallel()
	var srv *miniapitest.Server
	var none *testing.M
	run := runs(func() int {
		t.Error("the tests were run")
		return 0
	})
	for name, code := range map[string]int{
		"no tests":    miniapitest.Main(nil, &srv),
		"nil tests":   miniapitest.Main(none, &srv),
		"no variable": miniapitest.Main(run, nil),
	} {
		if code != 1 || srv != nil {
			t.Errorf("%s: want code 1 and no server, got %d and %v", name, code, srv)
		}
	}
}

type runs func() int

func (r runs) Run() int { return r() }
