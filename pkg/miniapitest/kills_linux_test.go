package miniapitest_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// kills is the environment variable with the number of test processes that TestKills kills.
const kills = "MINIAPITEST_KILLS"

// A test process that is killed at any moment leaves no process and no file.
func TestKills(t *testing.T) {
	if !over(ownProcess) {
		t.Skip("in the test's process, files are left for the next one: see TestEnds")
	}
	t.Parallel()
	n := 24
	if given := os.Getenv(kills); given != "" {
		var err error
		if n, err = strconv.Atoi(given); err != nil {
			t.Fatal(err)
		}
	}
	var running sync.WaitGroup
	for worker := range 2 {
		running.Go(func() {
			for range n / 2 {
				kill(t, filepath.Join(t.TempDir(), strconv.Itoa(worker)), time.Duration(rand.Int64N(int64(700*time.Millisecond))))
			}
		})
	}
	running.Wait()
}

// kill kills a test process after a time, and waits until nothing is left of it.
func kill(t *testing.T, temporary string, after time.Duration) {
	t.Helper()
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		t.Error(err)
		return
	}
	marker := "TMPDIR=" + temporary
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAsUser$")
	child.Env = append(os.Environ(), asUser+"=is killed", marker)
	if err := child.Start(); err != nil {
		t.Error(err)
		return
	}
	seen := map[int]bool{}
	alive := func() bool {
		pids := marked(marker)
		for _, pid := range pids {
			seen[pid] = true
		}
		return len(pids) > 0
	}
	killed := time.Now().Add(after)
	_ = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Until(killed), true, func(context.Context) (bool, error) {
		alive()
		return time.Now().After(killed), nil
	})
	_ = child.Process.Kill()
	_ = child.Wait()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return !alive(), nil
	}); err != nil {
		t.Errorf("killed after %s: processes are left: %v", after, marked(marker))
	}
	for pid := range seen {
		if left := inMemory(t, pid); len(left) > 0 {
			t.Errorf("killed after %s: there are %q", after, left)
		}
	}
	if left := filesIn(t, temporary); len(left) > 0 {
		t.Errorf("killed after %s: there are %q", after, left)
	}
}

// marked returns the processes with a variable in their environment.
func marked(variable string) []int {
	entries, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, entry := range entries {
		content, err := os.ReadFile(entry)
		if err != nil || !slices.ContainsFunc(bytes.Split(content, []byte{0}), func(v []byte) bool { return string(v) == variable }) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
