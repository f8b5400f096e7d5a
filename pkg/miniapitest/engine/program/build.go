package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// smaller leaves out symbols and debug information. The build is then faster, and the program a third smaller. A debugger
// needs the in-process engine.
const smaller = "-ldflags=-s -w"

// name is the file name of the program.
const name = "miniapi"

// ofVersion returns the program of a version, which is installed if it isn't in the cache folder. The build is outside
// of the user's module, so that no version of theirs is touched.
func ofVersion(ctx context.Context, cache, version string) (string, error) {
	folder := filepath.Join(cache, version)
	program := filepath.Join(folder, name)
	if isFile(program) {
		return program, nil
	}
	build := build{
		what: "miniapi " + version, program: program,
		run: func(to string) *exec.Cmd {
			install := exec.CommandContext(ctx, "go", "install", smaller, command+"@"+version)
			install.Dir = to // no go.mod is above a cache folder
			install.Env = append(os.Environ(), "GOBIN="+to, "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=")
			return install
		},
		advice: fmt.Sprintf("it needs the go command and the network; else set $%s to a miniapi of version %s", Variable, version),
	}
	return program, locked(ctx, folder, func() error {
		if isFile(program) {
			return nil
		}
		return build.make()
	})
}

// ofCheckout returns the program of a checkout, which is built if the sources have changed since the last build.
func ofCheckout(ctx context.Context, cache, checkout string) (string, error) {
	digest, err := digestOf(checkout)
	if err != nil {
		return "", fmt.Errorf("reading the sources in %s: %w", checkout, err)
	}
	place := sha256.Sum256([]byte(checkout))
	folder := filepath.Join(cache, "checkout-"+hex.EncodeToString(place[:8]))
	program, built := filepath.Join(folder, digest[:16], name), filepath.Join(folder, digest[:16])
	if isFile(program) {
		return program, nil
	}
	build := build{
		what: "miniapi of " + checkout, program: program,
		run: func(to string) *exec.Cmd {
			build := exec.CommandContext(ctx, "go", "build", smaller, "-o", filepath.Join(to, name), "./cmd/miniapi")
			build.Dir = checkout
			return build
		},
		advice: fmt.Sprintf("correct the sources, or set $%s to a miniapi program", Variable),
	}
	return program, locked(ctx, folder, func() error {
		if isFile(program) {
			return nil
		}
		if err := build.make(); err != nil {
			return err
		}
		return removeOthers(folder, built)
	})
}

// build is a build of the program.
type build struct {
	what, program, advice string
	run                   func(to string) *exec.Cmd
}

// make builds the program next to its place, and then moves it there: a program is whole or missing.
func (b build) make() error {
	began := time.Now()
	fmt.Fprintf(os.Stderr, "miniapitest: building %s, once, for servers of tests\n", b.what)
	folder := filepath.Dir(b.program)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	to, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	run := b.run(to)
	var output bytes.Buffer
	run.Stdout, run.Stderr = io.Discard, &output
	err = run.Run()
	if err == nil {
		err = os.Rename(filepath.Join(to, name), b.program)
	}
	if err != nil {
		err = fmt.Errorf("building %s by %q: %w: %s; %s", b.what, strings.Join(run.Args, " "), err, bytes.TrimSpace(output.Bytes()), b.advice)
	} else {
		fmt.Fprintf(os.Stderr, "miniapitest: built %s in %s\n", b.what, time.Since(began).Round(100*time.Millisecond))
	}
	return errors.Join(err, os.RemoveAll(to))
}

// old is the age at which the program of earlier sources is removed: no test that has found it is yet to start it.
const old = 10 * time.Minute

// removeOthers removes the programs of earlier sources.
func removeOthers(folder, current string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || path == current || time.Since(info.ModTime()) < old {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// digestOf returns a digest of the sources of the program.
func digestOf(checkout string) (string, error) {
	sum := sha256.New()
	add := func(path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(checkout, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", relative, len(content))
		_, err = sum.Write(content)
		return err
	}
	for _, file := range []string{"go.mod", "go.sum", "go.work"} {
		if err := add(filepath.Join(checkout, file)); err != nil {
			return "", err
		}
	}
	for _, part := range []string{"cmd", "pkg"} {
		if err := filepath.WalkDir(filepath.Join(checkout, part), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case entry.IsDir() || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			return add(path)
		}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
