package robustness_test

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/conformancetest"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

var (
	program  = flag.String("miniapi", "", "`path` of the program miniapi; without one, the tests are skipped")
	duration = flag.Duration("duration", 2*time.Minute, "`time` in which clients write, over all tests")
	seed     = flag.Uint64("seed", rand.Uint64(), "`seed` of the choices of clients and faults")
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.LogToStderr(false) // client-go logs interrupted answers
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

const (
	// requestTimeout is shorter than many faults, so that requests without an answer are a part of each run.
	requestTimeout = 2 * time.Second
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
func survive(t *testing.T, share float64, configs []*rest.Config, tables ...[]fault) {
	t.Helper()
	t.Logf("-seed %d repeats the choices of this run", *seed)
	history, err := consistency.Record(t.Context(), consistency.Options{
		Configs: configs, Seed: *seed, Duration: time.Duration(share * float64(*duration)), RequestTimeout: requestTimeout,
		Disturb: func(ctx context.Context) (map[string]int, error) { return inject(ctx, tables) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("covered:\n%s", history.Coverage())
	if len(history.Faults) == 0 {
		t.Error("no fault was injected: the duration must be longer")
	}
	results, err := conformance.Run(t.Context(), consistency.Cases(history), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conformancetest.Results(t, results)
}
