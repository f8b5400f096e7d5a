package program

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ofCheckout returns the program of a checkout of miniapi. It builds the program, unless a program of the same sources
// exists.
func ofCheckout(ctx context.Context, cache, checkout string) (string, error) {
	digest, err := digestOf(checkout)
	if err != nil {
		return "", fmt.Errorf("reading the sources in %s: %w", checkout, err)
	}
	place := sha256.Sum256([]byte(checkout))
	folder := filepath.Join(cache, "checkout-"+hex.EncodeToString(place[:8]))
	program := filepath.Join(folder, digest[:16], executable)
	if isFile(program) {
		return program, nil
	}
	inCheckout := func(context.Context, string) (string, error) { return checkout, nil }
	build := building(name+" of "+checkout, program, filepath.Join(checkout, "go.work"), inCheckout,
		fmt.Sprintf("correct the sources, or set $%s to a miniapi program", Variable))
	return program, locked(ctx, folder, func() error {
		if isFile(program) {
			return nil
		}
		if err := build.run(ctx, folder); err != nil {
			return err
		}
		return removeOthers(folder, filepath.Dir(program))
	})
}

// old is the age above which a program of earlier sources is removed. Another test process may have found a younger
// program, and may be about to start it.
const old = 10 * time.Minute

// removeOthers removes the folders of programs that were built from earlier sources, if they are older than ten
// minutes.
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

// digestOf returns a hash of the sources of the program.
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
