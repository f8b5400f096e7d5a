//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// edit runs a test after an edit of its file, to measure the time until the result. The packages below hack/bench/edit
// have the same test.
type edit struct {
	folder string // the edited files, which aren't in the checkout
	env    []string
	edits  int
}

// measureEdit measures the test with the fixture (package miniapitest), with the fake clientset of client-go and, if
// KUBEBUILDER_ASSETS is set, with envtest. It measures them by turns, because the speed of the machine varies.
func measureEdit(ctx context.Context, t *table, binary string, rounds int) error {
	folder, err := os.MkdirTemp("", "miniapi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the folder is temporary
	e := &edit{folder: folder, env: append(os.Environ(), "MINIAPI="+binary)}
	packages := []string{"withfixture", "withfake"}
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		packages = append(packages, "withenvtest")
	}
	took, processor, memory := map[string][]float64{}, map[string][]float64{}, map[string]float64{}
	for round := range rounds + 1 {
		for _, name := range packages {
			result, err := e.test(ctx, name)
			if err != nil {
				return err
			}
			if round > 0 { // the first round fills the build cache
				took[name], processor[name] = append(took[name], result.took), append(processor[name], result.processor)
			}
		}
	}
	for _, name := range packages {
		if memory[name], err = e.link(ctx, name); err != nil {
			return err
		}
	}
	t.miniapi.set(&editTime, median(took["withfixture"]))
	t.miniapi.set(&editProcessor, median(processor["withfixture"]))
	t.miniapi.set(&editFake, median(took["withfixture"])/median(took["withfake"]))
	t.miniapi.set(&editMemory, memory["withfixture"]/memory["withfake"])
	if len(took["withenvtest"]) > 0 {
		t.reference.set(&editTime, median(took["withenvtest"]))
		t.reference.set(&editProcessor, median(processor["withenvtest"]))
	}
	return nil
}

// editRounds is the number of measured edits of each test. A run of a test takes seconds.
const editRounds = 7

// result is the cost of one run of a test: the time and the processor time, in milliseconds.
type result struct{ took, processor float64 }

// test edits a test and runs it.
func (e *edit) test(ctx context.Context, name string) (result, error) {
	began := time.Now()
	usage, err := e.run(ctx, name, "-count=1", "-timeout=1h") // on a new machine, the first run compiles all dependencies
	if err != nil {
		return result{}, err
	}
	return result{ms(time.Since(began)), float64(usage.Utime.Nano()+usage.Stime.Nano()) / float64(time.Millisecond)}, nil
}

// link edits a test and builds it. It returns the resident memory of the largest process of the build, which is the
// linker.
func (e *edit) link(ctx context.Context, name string) (float64, error) {
	usage, err := e.run(ctx, name, "-c", "-o", filepath.Join(e.folder, "test"))
	if err != nil {
		return 0, err
	}
	return float64(usage.Maxrss) * 1024, nil
}

// run edits the test of a package and runs a go command. The edited file is given to the command as an overlay, so the
// checkout stays unchanged.
func (e *edit) run(ctx context.Context, name string, args ...string) (*syscall.Rusage, error) {
	e.edits++
	file, err := filepath.Abs(filepath.Join("hack", "bench", "edit", name, "edit_test.go"))
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("bench must run in the folder of the checkout: %w", err)
	}
	const before = `"before the edit"`
	if !strings.Contains(string(content), before) {
		return nil, fmt.Errorf("%s: must contain %s, which each edit replaces", file, before)
	}
	changed := strings.Replace(string(content), before, fmt.Sprintf("%q", fmt.Sprint("edit ", e.edits, " of ", time.Now())), 1)
	replacement, overlay := filepath.Join(e.folder, name+"_test.go"), filepath.Join(e.folder, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {file: replacement}})
	if err != nil {
		return nil, err
	}
	for path, content := range map[string][]byte{replacement: []byte(changed), overlay: replaced} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	test := exec.CommandContext(ctx, "go", append(append([]string{"test", "-overlay", overlay}, args...), filepath.Dir(file))...)
	test.Env = e.env
	if out, err := test.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%q: %w: %s", strings.Join(test.Args, " "), err, out)
	}
	return test.ProcessState.SysUsage().(*syscall.Rusage), nil
}
