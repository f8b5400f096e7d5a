package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// module is the module of the program, and mainPackage its package. The module of the fixture has the same versions.
	module      = "github.com/miniapi-dev/miniapi"
	mainPackage = module + "/cmd/miniapi"
	fixture     = module + "/pkg/miniapitest"

	// Variable is the environment variable that names the program.
	Variable = "MINIAPI"
)

// Find returns the path of the program. These are asked, in order:
//
//   - $MINIAPI;
//   - in a checkout of miniapi: the program of that checkout, which is built if the sources have changed;
//   - the program of the fixture's exact version: in the user's cache folder, or on the PATH, or else built now.
func Find(ctx context.Context) (string, error) {
	if named := os.Getenv(Variable); named != "" {
		return checkNamed(named)
	}
	source, err := findSource(ctx)
	if err != nil {
		return "", fmt.Errorf("finding the source of the fixture, of which the miniapi program is built: %w; set $%s to the program", err, Variable)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the folder of the miniapi program: %w; set $%s to the program", err, Variable)
	}
	cache = filepath.Join(cache, "miniapi", "fixture")
	if source.checkout != "" {
		return ofCheckout(ctx, cache, source.checkout)
	}
	return ofVersion(ctx, cache, source.version)
}

// checkNamed returns the absolute path of $MINIAPI.
func checkNamed(named string) (string, error) {
	info, err := os.Stat(named)
	switch {
	case err != nil:
		return "", fmt.Errorf("$%s: %w: it must be the path of a miniapi program", Variable, err)
	case info.IsDir():
		return "", fmt.Errorf("$%s: %s is a folder: it must be the path of a miniapi program", Variable, named)
	}
	return filepath.Abs(named)
}

// source is where the fixture's code comes from: a checkout, or else a version.
type source struct{ checkout, version string }

// findSource finds where the code of this package comes from. The build info of a test doesn't list dependencies, so the
// path of this file is the first place to look.
func findSource(ctx context.Context) (source, error) {
	_, file, _, _ := runtime.Caller(0)
	if s := sourceOf(file); s != (source{}) {
		return s, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return source{}, err
	}
	if checkout := checkoutAbove(folder); checkout != "" {
		return source{checkout: checkout}, nil
	}
	return ask(ctx, folder)
}

// sourceOf reads the path of a source file of the module: in the module cache, the path has the version; in a checkout
// that isn't compiled with -trimpath, it leads there.
func sourceOf(file string) source {
	file = filepath.ToSlash(file)
	if _, rest, found := strings.Cut(file, fixture+"@"); found {
		version, _, _ := strings.Cut(rest, "/")
		return source{version: version}
	}
	if filepath.IsAbs(file) && !strings.Contains(file, "/vendor/") {
		return source{checkout: checkoutAbove(filepath.Dir(file))}
	}
	return source{}
}

// checkoutAbove returns the folder of miniapi's go.mod, at or above a folder of miniapi, or "".
func checkoutAbove(folder string) string {
	for {
		if content, err := os.ReadFile(filepath.Join(folder, "go.mod")); err == nil {
			switch declared(content) {
			case module:
				return folder
			case fixture: // the checkout is above
			default:
				return ""
			}
		}
		above := filepath.Dir(folder)
		if above == folder {
			return ""
		}
		folder = above
	}
}

// declared returns the module of a go.mod, or "".
func declared(content []byte) string {
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}

// ask asks the go command, which knows about replace directives, workspaces and vendor folders.
func ask(ctx context.Context, folder string) (source, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-json", fixture)
	list.Dir = folder
	out, err := list.Output()
	if err != nil {
		return source{}, fmt.Errorf("go list -m %s, in %s: %w%s", fixture, folder, err, stderrOf(err))
	}
	listed := struct {
		Version, Dir string
		Main         bool
		Replace      *struct{ Version, Dir string }
	}{}
	if err := json.Unmarshal(out, &listed); err != nil {
		return source{}, fmt.Errorf("go list -m %s: %w", fixture, err)
	}
	if listed.Replace != nil {
		listed.Version, listed.Dir = listed.Replace.Version, listed.Replace.Dir
	}
	switch {
	case listed.Version != "":
		return source{version: listed.Version}, nil
	case listed.Dir != "":
		if checkout := checkoutAbove(listed.Dir); checkout != "" {
			return source{checkout: checkout}, nil
		}
		return source{}, fmt.Errorf("%s is a copy of %s without the rest of miniapi", listed.Dir, fixture)
	}
	return source{}, fmt.Errorf("go list -m %s: the output has neither a version nor a folder", fixture)
}

// stderrOf returns what a command has written to standard error, for the end of an error.
func stderrOf(err error) string {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || len(exit.Stderr) == 0 {
		return ""
	}
	return ": " + strings.TrimSpace(string(exit.Stderr))
}
