package group

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// initVariable makes the test binary call Init.
const initVariable = "GROUP_TEST_INIT"

func TestMain(m *testing.M) {
	if os.Getenv(initVariable) != "" || len(os.Args) > 1 && os.Args[1] == initVariable {
		if err := Init(os.Args[2:]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(128)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newGroups returns Groups whose init is the test binary.
func newGroups(t *testing.T) (*Groups, string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands of the test are those of Unix")
	}
	folder := filepath.Join(t.TempDir(), "groups")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := New(folder, []string{self, initVariable})
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("the folder is left: %v", err)
		}
	})
	return g, folder
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	g, _ := newGroups(t)
	for _, test := range []struct {
		name, reason, script string
		want                 int
	}{
		{"success", "the command ends by itself", "exit 0", 0},
		{"failure", "its code is kept", "exit 7", 7},
		{"signal", "as container runtimes count", "kill -TERM $$", 143},
		{"child", "a process that the command leaves behind ends with it", "sleep 1000 & exit 3", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			got, err := g.Run(t.Context(), Command{Args: []string{"sh", "-c", test.script}, Stdout: &out, Env: []string{"PATH=" + os.Getenv("PATH")}})
			if err != nil || got != test.want {
				t.Errorf("%s: want the code %d, got %d and the error %v", test.reason, test.want, got, err)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	view := View{Binds: []Bind{{From: "/a", To: "/etc/app"}, {From: "/b", To: "/etc/app/tls"}}}
	for _, test := range []struct{ name, path, want, reason string }{
		{"itself", "/etc/app", "/a", "a bind"},
		{"below", "/etc/app/x/y", "/a/x/y", "a path in a bind"},
		{"nested", "/etc/app/tls/key", "/b/key", "the longest bind counts"},
		{"similar", "/etc/apple", "", "another name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := view.Resolve(test.path); got != test.want || ok != (test.want != "") {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}
