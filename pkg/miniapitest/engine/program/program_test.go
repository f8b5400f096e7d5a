package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// sourceOf finds the version, or the checkout, in the path of a source file.
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
		{"module cache, trimmed", "a trimmed path has the version, too",
			fixture + "@v0.0.0-20260101000000-abcdefabcdef" + file,
			source{version: "v0.0.0-20260101000000-abcdefabcdef"}},
		{"checkout", "a go.mod is above", root + "/pkg/miniapitest" + file, source{checkout: root}},
		{"checkout, trimmed", "a trimmed path without a version names no folder", fixture + file, source{}},
		{"vendor folder", "a vendor folder doesn't have all of miniapi", "/operator/vendor/" + fixture + file, source{}},
		{"moved", "the folder doesn't exist any more", "/none" + file, source{}},
	} {
		if got := sourceOf(test.file); got != test.want {
			t.Errorf("%s: want %+v because %s, got %+v", test.name, test.want, test.reason, got)
		}
	}
}

// A folder of another module is not in a checkout of miniapi.
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

// The program in $MINIAPI takes precedence over a program at any other place. $MINIAPI must name a file.
func TestNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, reason, value, want, err string }{
		{"file", "the variable names the program", file, file, ""},
		{"missing", "the variable names a missing file", file + "x", "", "$MINIAPI: stat " + file + "x"},
		{"folder", "the variable must name a file, and not its folder", filepath.Dir(file), "",
			"is a folder: the value must be the path of a miniapi program"},
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

// A program in PATH is used only if it has the exact version of the fixture, from "go install" or from a release. If miniapi in PATH has another version, the
// result has the reason and a remedy.
func TestOnPath(t *testing.T) {
	source, folder := t.TempDir(), t.TempDir()
	write(t, source, "go.mod", "module "+module+"\n\ngo 1.22.0\n")
	build := func(says string) {
		write(t, source, "cmd/miniapi/main.go", fmt.Sprintf("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(%q) }\n", says))
		command := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(folder, name), "./cmd/miniapi")
		command.Dir, command.Env = source, append(os.Environ(), "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	build("v1.37.2+miniapi-v1.2.3")
	path := os.Getenv("PATH")
	t.Setenv("PATH", folder)
	if found, other := onPath(context.Background(), "v1.2.3"); found != filepath.Join(folder, name) || other != "" {
		t.Errorf("want the released program, got %q, %q", found, other)
	}
	t.Setenv("PATH", path)
	build("v1.37.2")
	t.Setenv("PATH", folder)
	if found, other := onPath(context.Background(), "(devel)"); found != filepath.Join(folder, name) || other != "" {
		t.Errorf("want the program, got %q, %q", found, other)
	}
	found, other := onPath(context.Background(), "v1.2.3")
	for _, want := range []string{folder, "is miniapi (devel) and isn't used", "go install " + mainPackage + "@v1.2.3"} {
		if found != "" || !strings.Contains(other, want) {
			t.Errorf("want no program, and %q, got %q, %q", want, found, other)
		}
	}
	write(t, folder, name, "#!/bin/sh\n")
	if found, other := onPath(context.Background(), "v1.2.3"); found != "" || other != "" {
		t.Errorf("want another program passed over, got %q, %q", found, other)
	}
}

// fakeGo puts a fake go command into PATH. Its subcommand build runs a shell script, which gets the path for the
// program in $5. The returned function returns the downloads and builds so far.
func fakeGo(t *testing.T, build string) (calls func() []string) {
	t.Helper()
	folder := t.TempDir()
	log := filepath.Join(folder, "calls")
	write(t, folder, "go", fmt.Sprintf(`#!/bin/sh
case "$1" in
env)
	case "$2" in
	GOFLAGS) echo "$GOFLAGS" ;;
	GOMODCACHE) echo "$FAKE_MODULES" ;;
	esac
	exit ;;
esac
echo "$* in $PWD with GOFLAGS=$GOFLAGS GOWORK=$GOWORK GOGC=$GOGC" >> %s
case "$1" in
mod) echo '{"Dir": "%s"}' ;;
build)
%s
;;
esac
`, log, folder, build))
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() []string {
		content, _ := os.ReadFile(log)
		return strings.Split(strings.TrimSpace(string(content)), "\n")
	}
}

// write writes an executable file.
func write(t *testing.T, folder, file, content string) {
	t.Helper()
	path := filepath.Join(folder, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Several callers at the same time build the program of a version only once. Settings of the user's module, such as
// -mod=vendor, don't affect the build. A build removes the files of an earlier build that was killed.
func TestOfVersion(t *testing.T) {
	calls := fakeGo(t, `sleep 0.1; echo program > "$5"`)
	t.Setenv("GOFLAGS", "-mod=vendor -trimpath -race")
	t.Setenv("GOGC", "50")
	cache := t.TempDir()
	write(t, cache, "v1.2.3/"+unfinished+"killed/miniapi", "half")
	var asking sync.WaitGroup
	for range 4 {
		asking.Add(1)
		go func() {
			defer asking.Done()
			got, err := ofVersion(context.Background(), cache, "v1.2.3", "")
			if want := filepath.Join(cache, "v1.2.3", "miniapi"); got != want || err != nil {
				t.Errorf("want %s, got %s, %v", want, got, err)
			}
		}()
	}
	asking.Wait()
	got, settings := calls(), "with GOFLAGS=-mod=readonly -trimpath GOWORK=off GOGC=50"
	if len(got) != 2 || !strings.HasPrefix(got[0], "mod download -json "+module+"@v1.2.3 in "+cache) || !strings.HasSuffix(got[0], settings) ||
		!strings.HasPrefix(got[1], "build -v -ldflags=-s -w -o "+cache) || strings.Contains(got[1], "in "+cache) || !strings.HasSuffix(got[1], settings) {
		t.Errorf("want one build in the module cache, got %q", got)
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock miniapi")
}

// cacheOfMany and checksumsOfMany are the environment variables by which the child processes of stampede get the cache
// folder and the checksums of releases.
const (
	cacheOfMany     = "MINIAPITEST_CACHE"
	checksumsOfMany = "MINIAPITEST_CHECKSUMS"
)

// "go test ./..." starts many test processes at the same time. One of them builds the program, and all of them use it.
func TestStampede(t *testing.T) {
	calls := fakeGo(t, `echo program > "$5"`)
	cache := t.TempDir()
	stampede(t, cache, "")
	if got := calls(); len(got) != 2 {
		t.Errorf("want one download and one build, got %q", got)
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock miniapi")
}

// stampede lets 20 processes get the program at the same time.
func stampede(t *testing.T, cache, checksums string) {
	t.Helper()
	var processes []*exec.Cmd
	for range 20 {
		processes = append(processes, oneOfMany(t, cache, checksums))
	}
	for i, process := range processes {
		if err := process.Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, process.Stderr)
		}
	}
}

// oneOfMany starts a process that gets the program.
func oneOfMany(t *testing.T, cache, checksums string) *exec.Cmd {
	t.Helper()
	process, output := exec.Command(os.Args[0], "-test.run=^TestAsOneOfMany$"), &strings.Builder{}
	process.Env = append(os.Environ(), cacheOfMany+"="+cache, checksumsOfMany+"="+checksums)
	process.Stdout, process.Stderr = output, output
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	return process
}

// TestAsOneOfMany is the test that a child process of stampede runs.
func TestAsOneOfMany(t *testing.T) {
	cache := os.Getenv(cacheOfMany)
	if cache == "" {
		t.Skip("other tests run it in child processes")
	}
	found, err := ofVersion(context.Background(), cache, "v1.2.3", os.Getenv(checksumsOfMany))
	if err != nil || !isFile(found) {
		t.Errorf("want the program, got %q, %v", found, err)
	}
}

// If the module cache has the version, the build needs no network.
func TestCached(t *testing.T) {
	calls := fakeGo(t, `echo program > "$5"`)
	modules := t.TempDir()
	t.Setenv("FAKE_MODULES", modules)
	write(t, modules, module+"@v1.2.3/go.mod", "")
	write(t, modules, module+"@v1.2.4/go.mod", "")
	write(t, modules, "cache/download/"+module+"/@v/v1.2.4.partial", "")
	for _, test := range []struct {
		version, reason string
		calls           int
	}{
		{"v1.2.3", "the module is complete in the cache", 1},
		{"v1.2.4", "a download was killed", 3},
		{"v1.2.5", "the module is missing in the cache", 5},
	} {
		if _, err := ofVersion(context.Background(), t.TempDir(), test.version, ""); err != nil {
			t.Fatal(err)
		}
		if got := calls(); len(got) != test.calls {
			t.Errorf("%s: want %d downloads and builds because %s, got %q", test.version, test.calls, test.reason, got)
		}
	}
	if got := calls()[0]; !strings.Contains(got, "in "+modules+"/"+module+"@v1.2.3 with") {
		t.Errorf("want a build in the module cache, got %q", got)
	}
}

// A failed build returns the reason and a remedy, and leaves no file at the path of the program.
func TestFailedBuild(t *testing.T) {
	fakeGo(t, `echo "k8s.io/api/core/v1" >&2; echo "dial tcp: no route" >&2; exit 1`)
	cache := t.TempDir()
	_, err := ofVersion(context.Background(), cache, "v1.2.3", "")
	for _, want := range []string{"building miniapi v1.2.3", "exit status 1: dial tcp: no route", "the go command", "set $MINIAPI"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock")
}

// The end of the context ends a build. It also ends the wait for a build by another process.
func TestEndedBuild(t *testing.T) {
	began := filepath.Join(t.TempDir(), "began")
	fakeGo(t, `echo > `+began+`; exec sleep 600`)
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	built := make(chan error)
	go func() {
		_, err := ofVersion(ctx, cache, "v1.2.3", "")
		built <- err
	}()
	if err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return isFile(began), nil }); err != nil {
		t.Fatal(err)
	}
	waiting, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	if _, err := ofVersion(waiting, cache, "v1.2.3", ""); err == nil || !strings.Contains(err.Error(), "waiting for the process that downloads or builds") {
		t.Errorf("want the wait to end, got %v", err)
	}
	cancel()
	if err := <-built; err == nil {
		t.Error("want the build to end")
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock")
}

// The downloads and the packages in the output of a build become lines about the progress. An error shows the other
// lines of the output.
func TestProgress(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	p := &progress{what: "it", to: &told, told: time.Now().Add(time.Hour)}
	for _, part := range []string{"go: downloading k8s.io/api v0.37.2\nk8s.io/", "api/core/v1\n# k8s.io/api/apps/v1\na.go:1:1: wrong\n", "end"} {
		if _, err := p.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := told.String(); got != "" {
		t.Errorf("want nothing before the time, got %q", got)
	}
	p.told = time.Time{}
	p.take("k8s.io/api/batch/v1")
	p.take("k8s.io/api/batch/v1beta1")
	if got, want := told.String(), "miniapitest: building it: 1 modules downloaded, 2 packages compiled\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if got, want := p.rest(), "# k8s.io/api/apps/v1\na.go:1:1: wrong\nend"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

// The program of a checkout is built again only if its sources have changed.
func TestOfCheckout(t *testing.T) {
	calls := fakeGo(t, `echo program > "$5"`)
	t.Setenv("GOFLAGS", "-buildvcs=false")
	t.Setenv("GOGC", "")
	cache, checkout := t.TempDir(), t.TempDir()
	for _, file := range []string{"go.mod", "go.sum", "go.work", "cmd/miniapi/main.go", "pkg/a/a.go", "pkg/a/a_test.go", "pkg/a/testdata/x.yaml"} {
		write(t, checkout, file, "")
	}
	earlier := ""
	for i, test := range []struct {
		name, reason, file, content string
		built                       int
	}{
		{"first", "there is no program", "go.mod", "", 1},
		{"again", "nothing has changed", "go.mod", "", 1},
		{"same content", "a switch of branches writes files anew", "pkg/a/a.go", "", 1},
		{"test", "test files don't belong to the program", "pkg/a/a_test.go", "package a", 1},
		{"test data", "test data doesn't belong to the program", "pkg/a/testdata/x.yaml", "x", 1},
		{"source", "source files belong to the program", "pkg/a/a.go", "package a", 2},
		{"new file", "a new source file belongs to the program", "pkg/a/b.go", "", 3},
		{"versions", "another go.mod links other versions", "go.mod", "module a", 4},
	} {
		write(t, checkout, test.file, test.content)
		got, err := ofCheckout(context.Background(), cache, checkout)
		if err != nil || !isFile(got) {
			t.Fatalf("%s: want a program, got %q, %v", test.name, got, err)
		}
		if n := len(calls()); n != test.built || i > 0 && test.built == 1 && got != earlier {
			t.Errorf("%s: want %d builds because %s, got %d", test.name, test.built, test.reason, n)
		}
		earlier = got
	}
	if got := calls()[0]; !strings.HasPrefix(got, "build -v -ldflags=-s -w -o ") || !strings.HasSuffix(got, "./cmd/miniapi in "+checkout+" with GOFLAGS=-mod=readonly GOWORK="+checkout+"/go.work GOGC=400") {
		t.Errorf("want a build in the checkout, got %q", got)
	}
}

// checkFiles compares the names of the files in a folder with the names in want.
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
