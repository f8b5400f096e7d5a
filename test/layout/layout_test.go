// Package layout has the tests of the repository's own layout: the sizes of packages and of types.
package layout_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	// maxFiles is the number of files that a package may have without a reason. Tests and generated files don't count.
	maxFiles = 25
	// maxMethods is the number of methods that a type may have without a reason.
	maxMethods = 15
)

var (
	// manyFiles matches the reason of a package, and manyMethods the reason of a type.
	manyFiles   = regexp.MustCompile(`more than 25 files,?\sbecause\s`)
	manyMethods = regexp.MustCompile(`many\smethods,?\sbecause\s|[Mm]ost\s(of\sits\s)?methods\s`)
)

// The doc comment of a package with many files says why, and so does the doc comment of a type with many methods.
func TestLargePackagesAndTypesGiveReasons(t *testing.T) {
	t.Parallel()
	packages := readPackages(t, "../..")
	if len(packages) < 100 {
		t.Fatalf("found %d packages: the test must find all packages of the repository", len(packages))
	}
	for dir, p := range packages {
		if p.files > maxFiles && !manyFiles.MatchString(p.doc) {
			t.Errorf("%s has %d files, and its doc comment has no reason for more than %d", dir, p.files, maxFiles)
		}
		for name, methods := range p.methods {
			if methods > maxMethods && !manyMethods.MatchString(p.types[name]) {
				t.Errorf("%s: type %s has %d methods, and its doc comment has no reason for more than %d", dir, name, methods, maxMethods)
			}
		}
	}
}

// The files of a package that composes are a list of the parts. The list stays short enough to be read at a glance.
func TestComposingPackagesAreShort(t *testing.T) {
	t.Parallel()
	packages := readPackages(t, "../../pkg")
	for _, test := range []struct {
		dir, reason string
		files       int
	}{
		{"server", "a dozen files compose the server; doc.go and shared.go come in addition", 14},
		{"admission", "ten files are the chain; doc.go comes in addition", 11},
	} {
		got := packages[filepath.Join("../../pkg", test.dir)]
		if got == nil {
			t.Errorf("pkg/%s has no Go files", test.dir)
			continue
		}
		if got.files > test.files {
			t.Errorf("pkg/%s has %d files, want at most %d: %s", test.dir, got.files, test.files, test.reason)
		}
	}
}

// goPackage has the facts about the files of one folder.
type goPackage struct {
	files int
	doc   string
	// types maps each type to its doc comment. methods maps each type to the number of its methods.
	types   map[string]string
	methods map[string]int
}

// readPackages reads the Go files below a folder, by folder.
func readPackages(t *testing.T, root string) map[string]*goPackage {
	t.Helper()
	packages := map[string]*goPackage{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "testdata" || name == "bin" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = &goPackage{types: map[string]string{}, methods: map[string]int{}}
		}
		packages[dir].add(file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func (p *goPackage) add(file *ast.File) {
	p.files++
	p.doc += file.Doc.Text()
	for _, declared := range file.Decls {
		switch declared := declared.(type) {
		case *ast.FuncDecl:
			if declared.Recv != nil {
				p.methods[receiver(declared.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok {
					p.types[named.Name.Name] = cmp.Or(named.Doc.Text(), declared.Doc.Text())
				}
			}
		}
	}
}

// receiver returns the name of the type of a method's receiver.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
