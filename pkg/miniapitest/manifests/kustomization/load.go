// Package kustomization reads the manifests that users name by paths: the files, folders and globs that package manifests
// reads, standard input, and folders with a kustomization. [Load] is the way in.
//
// kubectl or kustomize builds a kustomization. The program doesn't link kustomize, because kustomize imports Go's package
// plugin, with which the linker keeps all methods: the program would be 47 MB larger, a quarter of its size.
package kustomization

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// Load returns the objects of paths, in the order of the paths. The path - is the argument in. The reader decodes the
// manifests.
func Load(ctx context.Context, reader manifests.Reader, paths []string, in io.Reader) ([]manifests.Object, error) {
	var objects []manifests.Object
	for _, path := range paths {
		read, err := load(ctx, reader, path, in)
		if err != nil {
			return nil, err
		}
		objects = append(objects, read...)
	}
	return objects, nil
}

func load(ctx context.Context, reader manifests.Reader, path string, in io.Reader) ([]manifests.Object, error) {
	switch {
	case path == "-":
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return reader.Decode("standard input", data)
	case path != "" && isKustomization(path):
		built, err := build(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("kustomization %s: %w; to apply the files as they are, name them, as in %s", path, err, filepath.Join(path, "*.yaml"))
		}
		objects, err := reader.Decode("kustomization "+path, built)
		for i := range objects {
			objects[i].File = path
		}
		return objects, err
	}
	return reader.Load(path)
}

// isKustomization reports whether a path is a folder with a file that kustomize reads.
func isKustomization(path string) bool {
	return slices.ContainsFunc([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, func(name string) bool {
		info, err := os.Stat(filepath.Join(path, name))
		return err == nil && !info.IsDir()
	})
}

// builders are the programs that build a kustomization, with their subcommands, the preferred one first.
var builders = [][]string{{"kubectl", "kustomize"}, {"kustomize", "build"}}

// build returns the manifests of a kustomization, in YAML.
func build(ctx context.Context, path string) ([]byte, error) {
	for _, builder := range builders {
		program, err := exec.LookPath(builder[0])
		if err != nil {
			continue
		}
		var out, failure bytes.Buffer
		command := exec.CommandContext(ctx, program, builder[1], path)
		command.Stdout, command.Stderr = &out, &failure
		if err := command.Run(); err != nil {
			return nil, fmt.Errorf("%s (%w): %s", strings.Join(builder, " "), err, bytes.TrimSpace(failure.Bytes()))
		}
		return out.Bytes(), nil
	}
	return nil, errors.New("kubectl or kustomize must be in PATH to build it")
}
