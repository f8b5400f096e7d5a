package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// dropping returns the gates that the strategies of kube-apiserver read when they drop fields: the constants of the
// package features in functions that drop fields or prepare an object.
func dropping(kubernetes string) ([]string, error) {
	names := map[string]bool{}
	for _, folder := range []string{"pkg/api", "pkg/registry"} {
		err := eachFile(filepath.Join(kubernetes, folder), func(_ string, file *ast.File) {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && drops(f.Name.Name) {
					ast.Inspect(f, func(n ast.Node) bool {
						if s, ok := n.(*ast.SelectorExpr); ok && isName(s.X, "features") {
							names[s.Sel.Name] = true
						}
						return true
					})
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// drops reports whether a function has the name of one that drops fields.
func drops(function string) bool {
	return strings.HasPrefix(strings.ToLower(function), "drop") || function == "PrepareForCreate" || function == "PrepareForUpdate"
}

func isName(x ast.Expr, name string) bool {
	ident, ok := x.(*ast.Ident)
	return ok && ident.Name == name
}

// marked returns the fields in the Go types of k8s.io/api that have the marker of a feature gate, each with its gate:
// core/v1.PodSpec.Resources PodLevelResources.
func marked(api string) ([]string, error) {
	var lines []string
	err := eachFile(api, func(folder string, file *ast.File) {
		version, err := filepath.Rel(api, folder)
		if err != nil {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			object, ok := spec.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range object.Fields.List {
				for _, gate := range gatesOf(field.Doc) {
					lines = append(lines, fmt.Sprintf("%s.%s.%s %s", filepath.ToSlash(version), spec.Name.Name, field.Names[0].Name, gate))
				}
			}
			return false
		})
	})
	slices.Sort(lines)
	return lines, err
}

// gatesOf returns the gates in a comment's line "+featureGate=A,B".
func gatesOf(doc *ast.CommentGroup) []string {
	if doc == nil {
		return nil
	}
	for _, line := range doc.List {
		if _, gates, ok := strings.Cut(line.Text, "+featureGate="); ok {
			return strings.Split(strings.TrimSpace(gates), ",")
		}
	}
	return nil
}

// eachFile calls f with the Go files of a folder and the folders below, without tests.
func eachFile(root string, f func(folder string, file *ast.File)) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "zz_generated") || strings.HasSuffix(path, ".pb.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		f(filepath.Dir(path), file)
		return nil
	})
}
