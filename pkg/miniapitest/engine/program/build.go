package program

import (
	"bytes"
	"context"
	"encoding/json"
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
	// smaller makes the build leave out symbols and debug information. So the build is faster, and the program is a
	// third smaller. To debug the server, use package inprocess.
	smaller = "-ldflags=-s -w"
	// collect makes the compiler collect garbage less often, which saves a sixth of its processor time. The compilation of
	// the largest package takes 700 MB instead of 500.
	collect = "GOGC=400"
)

// building returns the installation that builds the program. The argument workspace is the value of GOWORK. The function
// source returns the folder of the module with the program; its argument is an empty folder, into which it may put files.
func building(what, path, workspace string, source func(ctx context.Context, empty string) (string, error), advice string) installation {
	put := func(ctx context.Context, to string) error {
		folder, err := source(ctx, to)
		if err != nil {
			return err
		}
		// The go command's flag -v writes the names of compiled packages, which show the progress. If the test process
		// ends, writing fails, which ends the build.
		said := &progress{what: what, to: console{}, told: time.Now()}
		compile := command(ctx, folder, workspace, "build", "-v", smaller, "-o", filepath.Join(to, executable), "./cmd/miniapi")
		compile.Stderr = said
		if err := compile.Run(); err != nil {
			return fmt.Errorf("%q: %w: %s", strings.Join(compile.Args, " "), err, said.rest())
		}
		return nil
	}
	return installation{doing: "building", done: "built", what: what, path: path, put: put, advice: advice}
}

// inModuleCache returns a function. The function returns the folder of the program's module, at a version, in the module
// cache; it downloads the module if needed. Building in that folder has three advantages: the module's own go.sum
// verifies its dependencies, the user's module doesn't influence their versions, and a full module cache makes the
// network unnecessary.
func inModuleCache(version string) func(context.Context, string) (string, error) {
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

// cached returns the folder of a version in the module cache, or "". The go command verified the folder when it
// downloaded the module. So cached doesn't use "go mod download", which would read the checksum database and therefore
// need the network.
func cached(ctx context.Context, version string) string {
	cache := goEnv(ctx, "GOMODCACHE")
	folder := filepath.Join(cache, filepath.FromSlash(module)+"@"+version)
	if !filepath.IsAbs(cache) || !isFile(filepath.Join(folder, "go.mod")) {
		return ""
	}
	// The go command removes this file when the module is completely unpacked. While the file exists, the folder may be
	// incomplete.
	if isFile(filepath.Join(cache, "cache", "download", filepath.FromSlash(module), "@v", version+".partial")) {
		return ""
	}
	return folder
}

// command returns a go command that runs in a module's folder. It builds for this machine, and ignores environment
// variables that are meant for the user's module.
func command(ctx context.Context, folder, workspace string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = folder
	// An empty GOFLAGS would make the go command use the flags of "go env -w".
	goflags := strings.Join(append([]string{"-mod=readonly"}, shared(strings.Fields(goEnv(ctx, "GOFLAGS")))...), " ")
	c.Env = append(os.Environ(), "PWD="+folder, "GOFLAGS="+goflags, "GOWORK="+workspace, "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if os.Getenv("GOGC") == "" {
		c.Env = append(c.Env, collect)
	}
	// After an interrupt, the go command removes its temporary files. Windows has no interrupt for another process.
	c.Cancel = func() error {
		if c.Process.Signal(os.Interrupt) == nil {
			return nil
		}
		return c.Process.Kill()
	}
	c.WaitDelay = 10 * time.Second
	return c
}

// goEnv returns a setting of the go command, or "" if there is no go command.
func goEnv(ctx context.Context, name string) string {
	out, _ := exec.CommandContext(ctx, "go", "env", name).Output()
	return strings.TrimSpace(string(out))
}

// shared returns the flags of GOFLAGS that the build should use, so that the packages of the program and the user's
// packages share the build cache. It leaves out flags that are meant for the user's module, such as -mod and -tags, and
// flags that make the program slower, such as -race.
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

// progress reads the output of a build. It prints the numbers of downloaded modules and of compiled packages from time
// to time, and keeps the other lines.
type progress struct {
	what                 string
	to                   io.Writer
	told                 time.Time
	part                 []byte // an incomplete line
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

// rest returns the lines that name neither a download nor a compiled package, such as errors.
func (p *progress) rest() string {
	return strings.TrimSpace(strings.Join(append(p.kept, string(p.part)), "\n"))
}
