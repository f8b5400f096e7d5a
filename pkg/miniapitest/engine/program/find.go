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
	// module is the path of the module with the program. mainPackage is the path of its main package. fixture is the
	// path of the fixture's module. Each version of the fixture needs the program of the same version.
	module      = "github.com/miniapi-dev/miniapi"
	mainPackage = module + "/cmd/miniapi"
	fixture     = module + "/pkg/miniapitest"

	// Variable is the environment variable with the path of the program.
	Variable = "MINIAPI"
)

// Find returns the path of the program. It looks in these places, in this order:
//
// - $MINIAPI;
// - in a checkout of miniapi: the program of that checkout, which is built if the sources have changed;
// - the program of the fixture's exact version: in the user's cache folder, or on the PATH, or else built now.
func Find(ctx context.Context) (string, error) {
	if named := os.Getenv(Variable); named != "" {
		return checkNamed(named)
	}
	source, err := findSource(ctx)
	if err != nil {
		return "", fmt.Errorf("finding the source of the fixture, of which the miniapi program is built: %w; set $%s to the path of a miniapi program", err, Variable)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache folder, for the miniapi program: %w; set $%s to the path of a miniapi program", err, Variable)
	}
	cache = filepath.Join(cache, "miniapi", "fixture")
	if source.checkout != "" {
		return ofCheckout(ctx, cache, source.checkout)
	}
	return ofVersion(ctx, cache, source.version)
}

// checkNamed returns the absolute path of the program in $MINIAPI, or an error if there is no such file.
func checkNamed(named string) (string, error) {
	info, err := os.Stat(named)
	switch {
	case err != nil:
		return "", fmt.Errorf("$%s: %w: the value must be the path of a miniapi program", Variable, err)
	case info.IsDir():
		return "", fmt.Errorf("$%s: %s is a folder: the value must be the path of a miniapi program", Variable, named)
	}
	return filepath.Abs(named)
}

// source is the origin of the fixture's code: the folder of a checkout, or a version.
type source struct{ checkout, version string }

// findSource finds the origin of this package's code. It first looks at the path of this file, because the build info
// of a test doesn't list dependencies.
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

// sourceOf derives the source from the path of a source file. In the module cache, the path contains the version. In a
// checkout, the path is below the checkout's folder, unless the test is compiled with -trimpath.
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

// checkoutAbove returns the folder with miniapi's go.mod: the argument folder or one of its parents. It returns "" if
// no folder has this go.mod, or if the go.mod of another project is nearer.
func checkoutAbove(folder string) string {
	for {
		if content, err := os.ReadFile(filepath.Join(folder, "go.mod")); err == nil {
			switch declared(content) {
			case module:
				return folder
			case fixture: // the folder is the fixture's, and miniapi's folder is above it
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

// declared returns the path of the module that a go.mod declares, or "".
func declared(content []byte) string {
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}

// ask finds the source by the go command, which evaluates replace directives, workspaces and vendor folders.
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
		return source{}, fmt.Errorf("%s is a copy of %s without the rest of miniapi: use a whole checkout", listed.Dir, fixture)
	}
	return source{}, fmt.Errorf("go list -m %s: the output has neither a version nor a folder", fixture)
}

// stderrOf returns the standard error of a failed command as the end of an error message.
func stderrOf(err error) string {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || len(exit.Stderr) == 0 {
		return ""
	}
	return ": " + strings.TrimSpace(string(exit.Stderr))
}
