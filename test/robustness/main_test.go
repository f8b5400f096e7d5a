//go:build unix

package robustness_test

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/conformancetest"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

var (
	program  = flag.String("miniapi", "", "`path` of the program miniapi; without one, the tests are skipped")
	duration = flag.Duration("duration", 2*time.Minute, "`time` in which clients write, over all tests")
	seed     = flag.Uint64("seed", rand.Uint64(), "`seed` of the choices of clients and faults")
	kept     = flag.String("history", "", "`file` with the history of a failed run, to be checked again")
)

const (
	// requestTimeout is shorter than many faults, so that requests without an answer are a part of each run.
	requestTimeout = 2 * time.Second
	// patience limits the time from the last write until each watch has sent it. The watches of a server that has lost
	// writes may never send it.
	patience         = 30 * time.Second
	patienceIfBroken = 3 * time.Second
	// longList is a number of objects with which a list counts as long in miniapi: it makes the watch cache.
	longList = 300
	// startTimeout limits the start and the stop of a process.
	startTimeout = time.Minute
)

// needProgram skips a test of a plain "go test".
func needProgram(t *testing.T) {
	t.Helper()
	if *program == "" {
		t.Skip("no flag -miniapi: make robustness runs this test")
	}
}

// survive has clients write to servers for a share of the duration of all tests, while the faults are injected, and
// checks what the clients have seen.
func survive(t *testing.T, share float64, o consistency.Options, tables ...[]fault) {
	t.Helper()
	o.Patience = patience
	o.Disturb = func(ctx context.Context) (map[string]int, error) { return inject(ctx, tables) }
	results, history := judge(t, share, o)
	conformancetest.Results(t, results)
	if t.Failed() {
		keep(t, history)
	}
}

// keep writes the history of a failed run to a file: another run with the same seed has another one.
func keep(t *testing.T, h *consistency.History) {
	t.Helper()
	file := filepath.Join(t.ArtifactDir(), "history.json")
	content, err := json.Marshal(h)
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("go test ./test/robustness -run TestHistory -args -history %s checks this history again", file)
}

// A kept history is checked again.
func TestHistory(t *testing.T) {
	if *kept == "" {
		t.Skip("no flag -history")
	}
	content, err := os.ReadFile(*kept)
	if err != nil {
		t.Fatal(err)
	}
	var h consistency.History
	if err := json.Unmarshal(content, &h); err != nil {
		t.Fatalf("history %s: %v", *kept, err)
	}
	results, err := conformance.Run(t.Context(), consistency.Cases(&h), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conformancetest.Results(t, results)
}

// judge has clients write for a share of the duration of all tests, and returns the results of the cases and the history.
func judge(t *testing.T, share float64, o consistency.Options) (conformance.Results, *consistency.History) {
	t.Helper()
	t.Logf("-seed %d repeats the choices of this run", *seed)
	o.Seed, o.Duration, o.RequestTimeout = *seed, time.Duration(share*float64(*duration)), requestTimeout
	results, history, err := consistency.Run(t.Context(), o, conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("covered:\n%s", history.Coverage())
	if len(history.Faults) == 0 {
		t.Error("no fault was injected: the duration must be longer")
	}
	return results, history
}
