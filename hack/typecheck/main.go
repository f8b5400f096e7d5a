// Typecheck checks the types of packages and their tests for other systems, as a compiler does, but it
// generates no code. So all systems take a minute, and not the half hour of their builds:
//
//	go run ./hack/typecheck work windows/amd64 darwin/arm64
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck PATTERN GOOS/GOARCH...")
		os.Exit(2)
	}
	systems := os.Args[2:]
	errs := make([]error, len(systems))
	var checks errgroup.Group
	checks.SetLimit(runtime.NumCPU())
	for i, system := range systems {
		checks.Go(func() error {
			if err := check(os.Args[1], system); err != nil {
				errs[i] = fmt.Errorf("%s: %w", system, err)
			}
			return nil
		})
	}
	_ = checks.Wait()
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listed is a package as "go list" prints it.
type listed struct {
	ImportPath, Dir, Name string
	Standard, DepOnly     bool
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct{ GoVersion string }
}

// check type-checks the packages of a pattern for a system. The packages that they import are checked without the bodies
// of their functions.
func check(pattern, system string) error {
	goos, goarch, _ := strings.Cut(system, "/")
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,Name,Standard,DepOnly,GoFiles,ImportMap,Module", pattern)
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return err
	}
	checked := packages{"unsafe": types.Unsafe}
	var errs []error
	for decoder := json.NewDecoder(out); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return errors.Join(err, list.Wait())
		}
		// The main package of a test is generated.
		if p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test") {
			errs = append(errs, checked.add(p, types.SizesFor("gc", goarch)))
		}
	}
	return errors.Join(append(errs, list.Wait())...)
}

// packages has the checked packages by their import paths.
type packages map[string]*types.Package

// add checks a package, whose imports have been added before.
func (all packages) add(p listed, sizes types.Sizes) error {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	var errs []error
	config := types.Config{
		Importer:         importer{all, p.ImportMap},
		IgnoreFuncBodies: p.DepOnly,
		FakeImportC:      true,
		Sizes:            sizes,
		Error:            func(err error) { errs = append(errs, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // a package of a test is "PATH [TEST]"
	all[p.ImportPath], _ = config.Check(path, files, parsed, nil)
	return errors.Join(errs...)
}

// importer finds the imports of a package.
type importer struct {
	packages
	renamed map[string]string
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if renamed, ok := i.renamed[path]; ok {
		path = renamed
	}
	if found := i.packages[path]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%s isn't checked yet", path)
}
