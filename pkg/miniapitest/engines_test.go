package miniapitest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/local"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/process"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/program"
)

const (
	// engineName is the environment variable that tells a child process which engine to use.
	engineName = "MINIAPITEST_ENGINE"

	inProcess, ownProcess = "in process", "process of its own"
)

// All tests run over each engine. After the servers of all tests have stopped, none of their goroutines is left.
func TestMain(m *testing.M) { os.Exit(runOver(m)) }

func runOver(m *testing.M) (code int) {
	path, err := program.Find(context.Background())
	if err == nil {
		err = os.Setenv(program.Variable, path) //nolint:forbidigo // child processes have other homes
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	engines := []struct {
		name   string
		engine engine.Engine
	}{
		{ownProcess, &process.Engine{Program: program.Find}},
		{inProcess, &local.Engine{}},
	}
	chosen := os.Getenv(engineName)
	for _, e := range engines {
		if chosen != "" && chosen != e.name {
			continue
		}
		if err := os.Setenv(engineName, e.name); err != nil { //nolint:forbidigo // child processes run over the same engine
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		miniapitest.UseEngine(e.engine)
		if failed := m.Run(); failed != 0 {
			fmt.Println("failed with the engine:", e.name)
			code = failed
		}
		if err := goleak.Find(); code == 0 && err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left by the engine:", e.name, err)
			code = 1
		}
	}
	return code
}

// over reports whether the tests run over an engine.
func over(name string) bool { return os.Getenv(engineName) == name }
