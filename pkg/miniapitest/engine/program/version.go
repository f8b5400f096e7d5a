package program

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ofVersion returns the program of a version. It looks in the cache folder and then in PATH. If the program is in
// neither, it downloads the release that checksums lists. If there is none, or if the place of all releases by default
// doesn't have it, it builds the program.
func ofVersion(ctx context.Context, cache, version, checksums string) (string, error) {
	folder := filepath.Join(cache, version)
	program := filepath.Join(folder, executable)
	if isFile(program) {
		return program, nil
	}
	found, other := onPath(ctx, version)
	if found != "" {
		return found, nil
	}
	return program, locked(ctx, folder, func() error {
		if isFile(program) {
			return nil
		}
		build := building(name+" "+version, program, "off", inModuleCache(version), fmt.Sprintf(
			"the build needs the go command, and the network or a module cache with all modules of miniapi; else set $%s to a miniapi of version %s",
			Variable, version))
		if other != "" {
			fmt.Fprintln(console{}, "miniapitest:", other)
			build.advice += "; " + other
		}
		if released := releaseOf(version, checksums); released != nil {
			err := released.installation(program).run(ctx, folder)
			if err == nil || ctx.Err() != nil || released.isRequired(err) {
				return err
			}
			fmt.Fprintln(console{}, "miniapitest:", err)
			build.advice += "; " + err.Error()
		}
		return build.run(ctx, folder)
	})
}

// onPath returns the path of the program miniapi in PATH, if the program has the exact version. If the program has
// another version, the result other says so, and gives a remedy.
func onPath(ctx context.Context, version string) (found, other string) {
	found, err := exec.LookPath(name)
	if err != nil {
		return "", ""
	}
	if found, err = filepath.Abs(found); err != nil {
		return "", ""
	}
	info, err := buildinfo.ReadFile(found)
	if err != nil || info.Path != mainPackage {
		return "", ""
	}
	actual := info.Main.Version
	if actual == "(devel)" {
		actual = cmp.Or(released(ctx, found), actual)
	}
	if actual == version {
		return found, ""
	}
	return "", fmt.Sprintf("%s is miniapi %s and isn't used, because this fixture is of version %s: to use a miniapi on the PATH, run \"go install %s@%s\"",
		found, actual, version, mainPackage, version)
}

// released returns the version of a program that wasn't built by "go install". Such a program has its version in the
// output of "miniapi version" alone.
func released(ctx context.Context, program string) string {
	out, _ := exec.CommandContext(ctx, program, "version").Output()
	_, version, _ := strings.Cut(strings.TrimSpace(string(out)), "+"+name+"-")
	return version
}
