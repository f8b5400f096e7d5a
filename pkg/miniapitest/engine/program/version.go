package program

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"path/filepath"
)

// ofVersion returns the program of a version. It looks in the cache folder and then in PATH. If the program is in
// neither, it builds the program.
func ofVersion(ctx context.Context, cache, version string) (string, error) {
	folder := filepath.Join(cache, version)
	program := filepath.Join(folder, name)
	if isFile(program) {
		return program, nil
	}
	found, other := onPath(version)
	if found != "" {
		return found, nil
	}
	build := build{
		what: "miniapi " + version, path: program, workspace: "off", source: download(version),
		advice: fmt.Sprintf("the build needs the go command, and the network or a module cache with all modules of miniapi; else set $%s to a miniapi of version %s",
			Variable, version),
	}
	return program, locked(ctx, folder, func() error {
		if isFile(program) {
			return nil
		}
		if other != "" {
			fmt.Fprintln(console{}, "miniapitest:", other)
			build.advice += "; " + other
		}
		return build.make(ctx, folder)
	})
}

// onPath returns the path of the program miniapi in PATH, if the program has the exact version. If the program has
// another version, the result other says so, and gives a remedy.
func onPath(version string) (found, other string) {
	found, err := exec.LookPath(name)
	if err != nil {
		return "", ""
	}
	if found, err = filepath.Abs(found); err != nil {
		return "", ""
	}
	info, err := buildinfo.ReadFile(found)
	switch {
	case err != nil || info.Path != mainPackage:
		return "", ""
	case info.Main.Version == version:
		return found, ""
	}
	return "", fmt.Sprintf("%s is miniapi %s and isn't used, because this fixture is of version %s: to use a miniapi on the PATH, run \"go install %s@%s\"",
		found, info.Main.Version, version, mainPackage, version)
}
