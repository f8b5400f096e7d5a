package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

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
