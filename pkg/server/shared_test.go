package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// All state that servers of a process share is in shared.go, with reasons. Every other package variable below
// pkg/server is a value that is computed once and is the same for every server.
func TestSharedStateIsInOneFile(t *testing.T) {
	t.Parallel()
	constants := []string{
		"bootstrap/objects.go: rbacObjects",       // the RBAC objects of every cluster
		"bootstrap/objects.go: aggregatedObjects", // the same objects, with the rules of aggregated roles filled in
		"admissiontrace/page.go: page",            // the file page.html
		"version/version.go: builtVersion",        // the version of the build
		"shared.go: shared",
	}
	var found []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			vars, ok := declared.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				if value := spec.(*ast.ValueSpec); isState(value) {
					found = append(found, filepath.ToSlash(path)+": "+value.Names[0].Name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	slices.Sort(constants)
	if !slices.Equal(found, constants) {
		t.Errorf("package variables that may change: want %q, got %q", constants, found)
	}
}

// isState tells whether a variable is state: its declaration uses package sync or sync/atomic, it has no value yet, or
// its value is an empty map or comes from make or new.
func isState(v *ast.ValueSpec) (state bool) {
	if v.Names[0].Name == "_" {
		return false
	}
	state = len(v.Values) == 0
	ast.Inspect(v, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // a variable inside a function is not package state
		case *ast.SelectorExpr:
			from, ok := n.X.(*ast.Ident)
			state = state || ok && (from.Name == "sync" || from.Name == "atomic")
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.Ident)
			state = state || ok && (called.Name == "make" || called.Name == "new")
		case *ast.CompositeLit:
			_, isMap := n.Type.(*ast.MapType)
			state = state || isMap && len(n.Elts) == 0
		}
		return true
	})
	return state
}
