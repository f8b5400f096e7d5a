package program

import (
	"context"
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

	// name is the name of the program.
	name = "miniapi"
)

// executable is the file name of the program.
var executable = name + map[string]string{"windows": ".exe"}[runtime.GOOS]

// Find returns the path of the program. It looks in these places, in this order:
//
// - $MINIAPI;
// - in a checkout of miniapi: the program of that checkout, which is built if the sources have changed;
// - the program of the fixture's exact version: in the user's cache folder, or on the PATH;
// - the release of that version, which is downloaded from $MINIAPI_RELEASES or from GitHub;
// - a build of that version.
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
	return ofVersion(ctx, cache, source.version, checksums)
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

// stderrOf returns the standard error of a failed command as the end of an error message.
func stderrOf(err error) string {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || len(exit.Stderr) == 0 {
		return ""
	}
	return ": " + strings.TrimSpace(string(exit.Stderr))
}
