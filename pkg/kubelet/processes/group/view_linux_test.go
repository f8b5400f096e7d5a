package group

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newGroupsWithViews is newGroups on a machine that lets this user make mount namespaces. It skips the test on others.
func newGroupsWithViews(t *testing.T) (g *Groups, folder string) {
	t.Helper()
	g, folder = newGroups(t)
	if err := g.HasViews(); err != nil {
		t.Skipf("this user can't make mount namespaces on this machine: %v", err)
	}
	return g, folder
}

func TestView(t *testing.T) {
	t.Parallel()
	g, folder := newGroupsWithViews(t)
	from := filepath.Join(folder, "volume")
	if err := os.MkdirAll(from, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "key"), []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, reason, to string }{
		{"service account", "below a link of most machines", serviceAccount},
		{"temporary folder", "the folder exists, and the rest doesn't", "/tmp/k8s-webhook-server/serving-certs"},
		{"root", "no part of the path exists", "/made-up-config/app"},
		{"existing", "the path exists", "/usr"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			view := &View{Folder: filepath.Join(folder, test.name), Binds: []Bind{
				{From: from, To: test.to}, {From: filepath.Join(from, "key"), To: test.to + "/nested/file"},
			}}
			if test.name == "existing" {
				view.Binds = view.Binds[:1]
			}
			for range 2 { // the folder of the view is kept
				var out, errs bytes.Buffer
				cat, err := exec.LookPath("cat")
				if err != nil {
					t.Fatal(err)
				}
				script := []string{cat, test.to + "/key"}
				if test.name == "existing" {
					script = []string{"/bin/sh", "-c", "read -r line < " + test.to + "/key; echo $line"}
					if bin, err := filepath.EvalSymlinks("/bin"); err != nil || strings.HasPrefix(bin, "/usr") {
						t.Skip("the shell is below the path")
					}
				}
				code, err := g.Run(t.Context(), Command{Args: script, View: view, Stdout: &out, Stderr: &errs, Dir: folder})
				if err != nil || code != 0 || strings.TrimSpace(out.String()) != "value" {
					t.Fatalf("%s: want the file, got %q, %q, the code %d and the error %v", test.reason, out.String(), errs.String(), code, err)
				}
			}
			if _, err := os.Stat(filepath.Join(test.to, "key")); err == nil {
				t.Errorf("%s: this machine has the file, too", test.reason)
			}
		})
	}
}

// A bind may be read-only. Another one may lie in it.
func TestReadOnlyBinds(t *testing.T) {
	t.Parallel()
	g, folder := newGroupsWithViews(t)
	for _, name := range []string{"read", "written"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	view := &View{Folder: filepath.Join(folder, "view"), Binds: []Bind{
		{From: filepath.Join(folder, "read"), To: "/made-up", ReadOnly: true}, {From: filepath.Join(folder, "written"), To: "/made-up/written"},
	}}
	for _, test := range []struct {
		name, reason, path string
		want               int
	}{
		{"read-only", "the mount is read-only", "/made-up/file", 2},
		{"writable", "the mount in it isn't", "/made-up/written/file", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var errs bytes.Buffer
			code, err := g.Run(t.Context(), Command{Args: []string{"sh", "-c", ": > " + test.path}, View: view, Stderr: &errs})
			if err != nil || code != test.want || test.want != 0 && !strings.Contains(errs.String(), "Read-only file system") {
				t.Errorf("%s: want the code %d, got %d, %q and %v", test.reason, test.want, code, errs.String(), err)
			}
		})
	}
}

// A command that can't begin is an error of the start, and no command that has failed.
func TestCommandsThatDoNotBegin(t *testing.T) {
	t.Parallel()
	g, folder := newGroupsWithViews(t)
	script := filepath.Join(folder, "script")
	if err := os.WriteFile(script, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason, program, from, want string
	}{
		{"missing", "the program doesn't exist", "/made-up-program", folder, "exec /made-up-program: no such file or directory"},
		{"not executable", "the file has no permission for it", script, folder, "exec " + script + ": permission denied"},
		{"bind", "a volume has gone", "/bin/sh", filepath.Join(folder, "gone"), "gone: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var errs bytes.Buffer
			view := &View{Folder: filepath.Join(folder, test.name), Binds: []Bind{{From: test.from, To: "/made-up"}}}
			started, err := g.Start(Command{Args: []string{test.program}, View: view, Stderr: &errs})
			if err == nil {
				started.Wait()
				t.Fatalf("%s: the command has begun", test.reason)
			}
			if !strings.HasSuffix(err.Error(), test.want) || errs.Len() > 0 {
				t.Errorf("%s: want the error %q and no output, got %q and %q", test.reason, test.want, err, errs.String())
			}
		})
	}
}
