package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The path of a source file tells the version, or the checkout.
func TestSourceOf(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	const file = "/engine/program/find.go"
	for _, test := range []struct {
		name, reason, file string
		want               source
	}{
		{"module cache", "the folder has the version", "/go/pkg/mod/" + fixture + "@v1.2.3" + file, source{version: "v1.2.3"}},
		{"module cache, trimmed", "so has a trimmed path", fixture + "@v0.0.0-20260101000000-abcdefabcdef" + file, source{version: "v0.0.0-20260101000000-abcdefabcdef"}},
		{"checkout", "a go.mod is above", root + "/pkg/miniapitest" + file, source{checkout: root}},
		{"checkout, trimmed", "nothing is known", fixture + file, source{}},
		{"vendor folder", "it isn't whole", "/operator/vendor/" + fixture + file, source{}},
		{"moved", "it isn't there any more", "/none" + file, source{}},
	} {
		if got := sourceOf(test.file); got != test.want {
			t.Errorf("%s: want %+v because %s, got %+v", test.name, test.want, test.reason, got)
		}
	}
}

// Below another module, there is no checkout.
func TestCheckoutAbove(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for folder, content := range map[string]string{"": "module " + module + "\n", "pkg/miniapitest": "module " + fixture + "\n", "examples/own": "// an example\nmodule example.com/own\n"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, folder, "go.mod"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]string{root: root, filepath.Join(root, "examples"): root, filepath.Join(root, "pkg/miniapitest"): root, filepath.Join(root, "examples/own"): "", filepath.Dir(root): ""} {
		if got := checkoutAbove(folder); got != want {
			t.Errorf("%s: want %q, got %q", folder, want, got)
		}
	}
}

// $MINIAPI comes first, and must be a file.
func TestNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, reason, value, want, err string }{
		{"file", "it is meant", file, file, ""},
		{"missing", "it was misspelt", file + "x", "", "$MINIAPI: stat " + file + "x"},
		{"folder", "the program in it is meant", filepath.Dir(file), "", "is a folder: it must be the path of a miniapi program"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(Variable, test.value)
			got, err := Find(context.Background())
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("want %q, error %q because %s, got %q, %v", test.want, test.err, test.reason, got, err)
			}
		})
	}
}

// A program on the PATH counts only if it is of the exact version. This test is a program of another package.
func TestOnPath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	if got := onPath("(devel)"); got != "" {
		t.Errorf("want none, got %s", got)
	}
}

// fakeGo puts a go command on the PATH that runs a shell script, and returns the file to which the script appends a
// line for each call.
func fakeGo(t *testing.T, script string) (calls func() []string) {
	t.Helper()
	folder := t.TempDir()
	log := filepath.Join(folder, "calls")
	content := fmt.Sprintf("#!/bin/sh\necho \"$* in $PWD with GOFLAGS=$GOFLAGS GOWORK=$GOWORK\" >> %s\n%s\n", log, script)
	if err := os.WriteFile(filepath.Join(folder, "go"), []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() []string {
		content, _ := os.ReadFile(log)
		return strings.Split(strings.TrimSpace(string(content)), "\n")
	}
}

// The program of a version is installed once for all test processes, outside of the user's module and without its settings.
func TestOfVersion(t *testing.T) {
	calls := fakeGo(t, `sleep 0.1; echo program > "$GOBIN/miniapi"`)
	t.Setenv("GOFLAGS", "-mod=vendor")
	cache := t.TempDir()
	var asking sync.WaitGroup
	for range 4 {
		asking.Add(1)
		go func() {
			defer asking.Done()
			got, err := ofVersion(context.Background(), cache, "v1.2.3")
			if want := filepath.Join(cache, "v1.2.3", "miniapi"); got != want || err != nil {
				t.Errorf("want %s, got %s, %v", want, got, err)
			}
		}()
	}
	asking.Wait()
	if got := calls(); len(got) != 1 || !strings.HasPrefix(got[0], "install -ldflags=-s -w "+command+"@v1.2.3 in "+cache) || !strings.HasSuffix(got[0], "with GOFLAGS= GOWORK=off") {
		t.Errorf("want one install outside of the module, got %q", got)
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock miniapi")
}

// A build that fails says why and what to do, and leaves nothing that looks like a program.
func TestFailedBuild(t *testing.T) {
	fakeGo(t, `echo "dial tcp: no route" >&2; exit 1`)
	cache := t.TempDir()
	_, err := ofVersion(context.Background(), cache, "v1.2.3")
	for _, want := range []string{"building miniapi v1.2.3", "dial tcp: no route", "the go command and the network", "set $MINIAPI"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock")
}

// The program of a checkout is built again when its sources have changed, and only then.
func TestOfCheckout(t *testing.T) {
	calls := fakeGo(t, `echo program > "$4"`)
	cache, checkout := t.TempDir(), t.TempDir()
	write := func(file, content string) {
		t.Helper()
		path := filepath.Join(checkout, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "go.work", "cmd/miniapi/main.go", "pkg/a/a.go", "pkg/a/a_test.go", "pkg/a/testdata/x.yaml"} {
		write(file, "")
	}
	earlier := ""
	for i, test := range []struct {
		name, reason, file, content string
		built                       int
	}{
		{"first", "there is no program", "go.mod", "", 1},
		{"again", "nothing has changed", "go.mod", "", 1},
		{"same content", "a switch of branches writes files anew", "pkg/a/a.go", "", 1},
		{"test", "it isn't of the program", "pkg/a/a_test.go", "package a", 1},
		{"test data", "neither is this", "pkg/a/testdata/x.yaml", "x", 1},
		{"source", "the program is of it", "pkg/a/a.go", "package a", 2},
		{"new file", "it is of the program, too", "pkg/a/b.go", "", 3},
		{"versions", "other code is linked", "go.mod", "module a", 4},
	} {
		write(test.file, test.content)
		got, err := ofCheckout(context.Background(), cache, checkout)
		if err != nil || !isFile(got) {
			t.Fatalf("%s: want a program, got %q, %v", test.name, got, err)
		}
		if n := len(calls()); n != test.built || i > 0 && test.built == 1 && got != earlier {
			t.Errorf("%s: want %d builds because %s, got %d", test.name, test.built, test.reason, n)
		}
		earlier = got
	}
	if got := calls()[0]; !strings.HasPrefix(got, "build -ldflags=-s -w -o ") || !strings.Contains(got, "./cmd/miniapi in "+checkout) {
		t.Errorf("want a build in the checkout, got %q", got)
	}
}

// checkFiles compares the names in a folder.
func checkFiles(t *testing.T, folder, want string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("want the files %q, got %q", want, got)
	}
}
