//go:build unix

package group

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// When this process is killed, the input of the guard ends, and with it the groups that still run.
func TestGuardKills(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "groups")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	g := New(folder, nil)
	var started []*Group
	for _, script := range []string{"exit 0", "sleep 1000 & wait", "sleep 1000"} {
		group, err := g.Start(Command{Args: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: &bytes.Buffer{}})
		if err != nil {
			t.Fatal(err)
		}
		started = append(started, group)
	}
	if code := started[0].Wait(); code != 0 {
		t.Errorf("want the first command to end by itself, got the code %d", code)
	}
	if err := started[0].guard.close(); err != nil {
		t.Fatal(err)
	}
	for _, group := range started[1:] {
		if code := group.Wait(); code != 128+9 {
			t.Errorf("want the guard to kill %q, got the code %d", group.command.Args, code)
		}
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
