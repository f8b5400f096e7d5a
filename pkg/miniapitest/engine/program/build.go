package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// name is the file name of the program.
	name = "miniapi"
	// unfinished begins the names of folders in which a program is being built.
	unfinished = "build-"
	// smaller leaves out symbols and debug information. The build is then faster, and the program a third smaller. A
	// debugger needs the in-process engine.
	smaller = "-ldflags=-s -w"
)

// build is a build of the program.
type build struct {
	// what is the program, for messages, and path its place.
	what, path string
	// workspace is the GOWORK of the build.
	workspace string
	// source returns the folder of the module of the program, and may use an empty folder.
	source func(ctx context.Context, empty string) (string, error)
	// advice says what to do about an error.
	advice string
}

// make builds the program below a folder, and then moves it to its place: a program is whole or missing. The caller has
// locked the folder, so earlier builds in it have been killed, and what they left is removed.
func (b build) make(ctx context.Context, folder string) (err error) {
	began := time.Now()
	fmt.Fprintf(os.Stderr, "miniapitest: building %s, once, for servers of tests\n", b.what)
	if err := removeAll(filepath.Join(folder, unfinished+"*")); err != nil {
		return err
	}
	to, err := os.MkdirTemp(folder, unfinished)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
	if err := b.run(ctx, to); err != nil {
		return fmt.Errorf("building %s: %w; %s", b.what, err, b.advice)
	}
	if err := os.MkdirAll(filepath.Dir(b.path), 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(to, name), b.path); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "miniapitest: built %s in %s\n", b.what, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// run builds the program in a folder.
func (b build) run(ctx context.Context, to string) error {
	source, err := b.source(ctx, to)
	if err != nil {
		return err
	}
	// The names of packages, which -v writes, tell the progress. They also end a build whose test process is gone, as
	// nothing reads them any more.
	said := &progress{what: b.what, to: os.Stderr, told: time.Now()}
	compile := command(ctx, source, b.workspace, "build", "-v", smaller, "-o", filepath.Join(to, name), "./cmd/miniapi")
	compile.Stderr = said
	if err := compile.Run(); err != nil {
		return fmt.Errorf("%q: %w: %s", strings.Join(compile.Args, " "), err, said.rest())
	}
	return nil
}

// download returns a function that returns the folder of a version of the module of the program in the module cache, and
// downloads that version first if it isn't there. The program is built in that folder: so its go.sum verifies the modules
// that it is made of, no version of the user's is touched, and a full module cache needs no network.
func download(version string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, empty string) (string, error) {
		if cached := cached(ctx, version); cached != "" {
			return cached, nil
		}
		get := command(ctx, empty, "off", "mod", "download", "-json", module+"@"+version)
		var said bytes.Buffer
		get.Stderr = &said
		out, err := get.Output()
		downloaded := struct{ Dir, Error string }{}
		if json.Unmarshal(out, &downloaded) == nil && downloaded.Error != "" {
			return "", fmt.Errorf("%q: %s", strings.Join(get.Args, " "), downloaded.Error)
		}
		if err != nil {
			return "", fmt.Errorf("%q: %w: %s", strings.Join(get.Args, " "), err, bytes.TrimSpace(said.Bytes()))
		}
		return downloaded.Dir, nil
	}
}

// cached returns the folder of a version in the module cache, or "". "go mod download" would ask the checksum database
// for the version, which needs the network, although the go command has verified what is in the cache.
func cached(ctx context.Context, version string) string {
	cache := goEnv(ctx, "GOMODCACHE")
	folder := filepath.Join(cache, filepath.FromSlash(module)+"@"+version)
	if !filepath.IsAbs(cache) || !isFile(filepath.Join(folder, "go.mod")) {
		return ""
	}
	// The go command removes this file when the folder is complete.
	if isFile(filepath.Join(cache, "cache", "download", filepath.FromSlash(module), "@v", version+".partial")) {
		return ""
	}
	return folder
}

// command returns a go command in a module, for this machine and regardless of settings that belong to the user's module.
func command(ctx context.Context, folder, workspace string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = folder
	// An empty GOFLAGS would leave those of "go env -w".
	goflags := strings.Join(append([]string{"-mod=readonly"}, shared(strings.Fields(goEnv(ctx, "GOFLAGS")))...), " ")
	c.Env = append(os.Environ(), "PWD="+folder, "GOFLAGS="+goflags, "GOWORK="+workspace, "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // the go command removes its temporary files
	c.WaitDelay = 10 * time.Second
	return c
}

// goEnv returns a setting of the go command, or "" if there is no go command.
func goEnv(ctx context.Context, name string) string {
	out, _ := exec.CommandContext(ctx, "go", "env", name).Output()
	return strings.TrimSpace(string(out))
}

// shared returns the flags by which the packages of the program and those of the user are compiled alike, so that they
// share the build cache. Other flags are for the user's module, such as -mod and -tags, or make the program slower, such
// as -race.
func shared(flags []string) []string {
	var kept []string
	for _, flag := range flags {
		switch name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name {
		case "trimpath", "p", "modcacherw":
			kept = append(kept, flag)
		}
	}
	return kept
}

// progress takes the output of a build. It passes on how many packages have been compiled, and keeps the rest.
type progress struct {
	what                 string
	to                   io.Writer
	told                 time.Time
	part                 []byte // of a line
	downloaded, compiled int
	kept                 []string
}

// tellEvery is the time between two lines about the progress.
const tellEvery = 10 * time.Second

// Write implements io.Writer.
func (p *progress) Write(output []byte) (int, error) {
	p.part = append(p.part, output...)
	for {
		line, rest, whole := bytes.Cut(p.part, []byte("\n"))
		if !whole {
			return len(output), nil
		}
		p.take(string(line))
		p.part = rest
	}
}

func (p *progress) take(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		p.downloaded++
	case line != "" && !strings.ContainsAny(line, " \t:"):
		p.compiled++
	default:
		p.kept = append(p.kept, line)
	}
	if time.Since(p.told) < tellEvery {
		return
	}
	p.told = time.Now()
	fmt.Fprintf(p.to, "miniapitest: building %s: %d modules downloaded, %d packages compiled\n", p.what, p.downloaded, p.compiled)
}

// rest returns the lines that don't tell of progress.
func (p *progress) rest() string {
	return strings.TrimSpace(strings.Join(append(p.kept, string(p.part)), "\n"))
}

// removeAll removes the files and folders that match a pattern.
func removeAll(pattern string) error {
	matches, err := filepath.Glob(pattern)
	for _, match := range matches {
		err = errors.Join(err, os.RemoveAll(match))
	}
	return err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
