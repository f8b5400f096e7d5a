package miniapitest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// endsBy tells a child process how to end.
const endsBy = "MINIAPITEST_ENDS_BY"

// A test process that doesn't end normally leaves no files, except temporary ones that the next server removes.
func TestEnds(t *testing.T) {
	switch os.Getenv(endsBy) {
	case "panic":
		panic(fmt.Sprint("with a server in ", miniapitest.Start(t).KubeconfigFile()))
	case "kill":
		fmt.Println(miniapitest.Start(t).KubeconfigFile())
		select {}
	}
	t.Parallel()
	t.Run("panic", func(t *testing.T) {
		t.Parallel()
		home, temporary := t.TempDir(), t.TempDir()
		pid := runToEnd(t, "panic", home, temporary, nil)
		if left := append(filesIn(t, home, temporary), inMemory(t, pid)...); len(left) > 0 {
			t.Errorf("though package testing cleans up first, there are %q", left)
		}
	})
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		home, temporary := t.TempDir(), t.TempDir()
		runToEnd(t, "kill", home, temporary, func(kubeconfig string) {
			runToEnd(t, "panic", home, temporary, nil)
			if _, err := os.Stat(kubeconfig); err != nil {
				t.Errorf("the next server has removed what another one uses: %v", err)
			}
		})
		if left := filesIn(t, home); len(left) > 0 {
			t.Errorf("want nothing but temporary files, there are %q", left)
		}
		runToEnd(t, "panic", home, temporary, nil)
		if left := filesIn(t, home, temporary); len(left) > 0 {
			t.Errorf("though the next server removes what is left, there are %q", left)
		}
	})
}

// runToEnd runs a test with a server to its end. A test that doesn't end is killed after running has been called with
// its kubeconfig.
func runToEnd(t *testing.T, by, home, temporary string, running func(kubeconfig string)) (pid int) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnds$")
	child.Dir = home
	child.Env = append(os.Environ(), endsBy+"="+by, "HOME="+home, "TMPDIR="+temporary)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = child.Stdout
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	started := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&log, lines.Text())
		if !strings.Contains(lines.Text(), filepath.Join(temporary, "miniapitest-")) {
			continue
		}
		started = true
		if running != nil {
			running(lines.Text())
			_ = child.Process.Kill()
		}
	}
	if err := child.Wait(); err == nil || !started {
		t.Fatalf("want a server, and then the end of the process, got %v:\n%s", err, &log)
	}
	return child.Process.Pid
}

func filesIn(t *testing.T, folders ...string) []string {
	t.Helper()
	var files []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

// inMemory returns the folders of a process in /dev/shm.
func inMemory(t *testing.T, pid int) []string {
	t.Helper()
	locks, err := filepath.Glob("/dev/shm/miniapi-*/miniapi.lock")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, lock := range locks {
		if holder, err := os.ReadFile(lock); err == nil && strings.Contains(string(holder), fmt.Sprintf(`"pid":%d,`, pid)) {
			folders = append(folders, filepath.Dir(lock))
		}
	}
	return folders
}
