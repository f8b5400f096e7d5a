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

// endsBy tells the test binary that it is the one to end, and how.
const endsBy = "MINIAPITEST_ENDS_BY"

// A test that doesn't end well leaves no file, but for temporary ones if it has no time for them.
func TestEnds(t *testing.T) {
	switch os.Getenv(endsBy) {
	case "panic":
		panic(fmt.Sprint("with a server in ", miniapitest.Start(t).KubeconfigFile()))
	case "kill":
		fmt.Println(miniapitest.Start(t).KubeconfigFile())
		select {}
	}
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		kill         bool // then temporary files may stay
	}{
		{"panic", "package testing cleans up first", false},
		{"kill", "nobody is asked; the next server removes what stays", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			home, temporary := t.TempDir(), t.TempDir()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnds$")
			child.Dir = home
			child.Env = append(os.Environ(), endsBy+"="+test.name, "HOME="+home, "TMPDIR="+temporary)
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
				if strings.Contains(lines.Text(), filepath.Join(temporary, "miniapitest-")) {
					started = true
					if test.kill {
						_ = child.Process.Kill()
					}
				}
			}
			if err := child.Wait(); err == nil || !started {
				t.Fatalf("want a server, and then the end of the process, got %v:\n%s", err, &log)
			}
			folders := []string{home, temporary}
			if test.kill {
				folders = folders[:1]
			}
			var left []string
			for _, folder := range folders {
				found, err := filepath.Glob(filepath.Join(folder, "*"))
				if err != nil {
					t.Fatal(err)
				}
				left = append(left, found...)
			}
			if !test.kill {
				left = append(left, inMemory(t, child.Process.Pid)...)
			}
			if len(left) > 0 {
				t.Errorf("though %s, there are %q", test.reason, left)
			}
		})
	}
}

// inMemory are the folders of a process in /dev/shm.
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
