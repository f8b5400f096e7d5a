// Package testfile reads test files: YAML documents of the kind AdmissionTest, which say what an API server is expected to
// do with requests. [Find] finds the files of paths, [Read] reads one, and [File.Install] and [File.Cases] read the
// manifests that it names. [Schema] is the JSON schema of the files.
//
// Don't use the package to run the cases: package runner does.
package testfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/kustomization"
)

// File is a test, with the file that it comes from.
type File struct {
	AdmissionTest
	// Path is the path of the file. A file with several documents has a File for each.
	Path string

	// lines has the lines of the fields by their paths.
	lines map[string]int
}

// endings are the endings of files that Find reads in folders.
var endings = []string{".yaml", ".yml", ".json"}

// Find returns the test files of paths, in the order of the paths: a file, or a folder with its subfolders. In a folder,
// files of other kinds are skipped. It returns an error if a path has no test file.
func Find(paths ...string) ([]string, error) {
	var found []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			found = append(found, path)
			continue
		}
		before := len(found)
		err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains(endings, filepath.Ext(file)) {
				return err
			}
			content, err := os.ReadFile(file)
			if err == nil && isTest(content) {
				found = append(found, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(found) == before {
			return nil, fmt.Errorf("%s: the folder must have a test file: a file with apiVersion: %s/%s and kind: %s", path, Group, Version, Kind)
		}
	}
	return found, nil
}

// isTest tells whether the content of a file looks like a test file. It doesn't parse the file, so that a test file with
// an error is found, too.
func isTest(content []byte) bool {
	return bytes.Contains(content, []byte(Group+"/")) && bytes.Contains(content, []byte(Kind))
}

// Read returns the tests of a file. Its errors have the type [*Error].
func Read(path string) ([]*File, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var files []*File
	documents := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF):
			if len(files) == 0 {
				return nil, &Error{File: path, Err: fmt.Errorf("must have a document with apiVersion: %s/%s and kind: %s", Group, Version, Kind)}
			}
			return files, nil
		case err != nil:
			return nil, &Error{File: path, Err: err}
		}
		if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
			continue
		}
		file := &File{Path: path, lines: map[string]int{}}
		d := &decoder{file: path, lines: file.lines, aliased: map[*yaml.Node]bool{}}
		if err := d.value(document.Content[0], "", reflect.ValueOf(&file.AdmissionTest).Elem()); err != nil {
			return nil, err
		}
		if err := file.check(); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
}

// Title returns the name of the test in reports.
func (f *File) Title() string {
	if f.Metadata.Name != "" {
		return f.Metadata.Name
	}
	return f.Path
}

// relative returns a path of the file, which is relative to its folder.
func (f *File) relative(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}

// At returns the path of a file or a folder that the test file names.
func (f *File) At(path string) string { return f.relative(path) }

// Paths returns the files and the folders that the test depends on: the file itself, and all that it names.
func (f *File) Paths() []string { return f.paths(map[string]bool{}) }

// paths is Paths. The argument seen has the test files whose paths are listed already.
func (f *File) paths(seen map[string]bool) []string {
	seen[filepath.Clean(f.Path)] = true
	paths := []string{f.Path}
	add := func(objects ...Object) {
		for _, object := range objects {
			if object.Path != "" {
				paths = append(paths, f.relative(object.Path))
			}
		}
	}
	request := func(r Request) {
		for _, object := range []*Object{r.Object, r.Old} {
			if object != nil {
				add(*object)
			}
		}
		add(r.Existing...)
	}
	for _, path := range f.Load {
		paths = append(paths, f.relative(path))
	}
	for _, path := range f.Installs {
		at := f.relative(path)
		paths = append(paths, at)
		others, err := tests(at)
		if err != nil {
			continue // the installation says what is wrong
		}
		for _, other := range others {
			if !seen[filepath.Clean(other.Path)] {
				paths = append(paths, other.paths(seen)...)
			}
		}
	}
	for _, w := range f.Webhooks {
		if w.Reviews != "" {
			paths = append(paths, f.relative(w.Reviews))
		}
		if len(w.Command) > 0 {
			paths = append(paths, f.relative(w.Dir))
		}
	}
	add(f.Objects...)
	request(f.Defaults.Request)
	for _, c := range f.AdmissionTest.Cases {
		request(c.Request)
		add(c.Objects...)
		for _, expect := range []*Expect{c.Expect, f.Defaults.Expect} {
			if expect != nil {
				for _, object := range []*Object{expect.Object, expect.Contains} {
					if object != nil {
						add(*object)
					}
				}
			}
		}
	}
	return paths
}

func (f *File) fail(line int, field, format string, args ...any) error {
	return &Error{f.Path, line, field, fmt.Errorf(format, args...)}
}

// Fail returns an error about a field of the file.
func (f *File) Fail(field string, err error) error { return &Error{f.Path, f.Line(field), field, err} }

// Line returns the line of a field, or of the nearest field around it that the file has.
func (f *File) Line(field string) int {
	for field != "" && f.lines[field] == 0 {
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return f.lines[field]
}

// check returns an error for values that don't fit each other.
func (f *File) check() error {
	lines := map[string]int{}
	for i, c := range f.AdmissionTest.Cases {
		field := fmt.Sprintf("cases[%d]", i)
		switch first := lines[c.Name]; {
		case first > 0:
			return f.fail(c.Line, field+".name", "%q is also the name of the case in line %d: give each case a name of its own", c.Name, first)
		case len(c.Objects) > 0 && c.Object != nil:
			return f.fail(c.Line, field, "object and objects are given: give one of them")
		case len(c.Users) > 0 && c.User != nil:
			return f.fail(c.Line, field, "user and users are given: give one of them")
		case len(c.Objects) == 0 && c.Object == nil && c.Old == nil && f.Defaults.Object == nil && f.Defaults.Old == nil:
			return f.fail(c.Line, field, "object must be set, here or in defaults")
		case c.Expect.verdict() == "" && f.Defaults.Expect.verdict() == "":
			return f.fail(c.Line, field, "expect.verdict must be set, here or in defaults: allowed or denied")
		}
		lines[c.Name] = c.Line
	}
	for i, w := range f.Webhooks {
		given := 0
		for _, set := range []bool{w.Address != "", len(w.Command) > 0, w.Reviews != ""} {
			if set {
				given++
			}
		}
		if given != 1 {
			return f.Fail(fmt.Sprintf("webhooks[%d]", i), fmt.Errorf("one of address, command and reviews must be set, got %d of them", given))
		}
	}
	return nil
}

func (e *Expect) verdict() string {
	if e == nil {
		return ""
	}
	return e.Verdict
}

// Install returns the objects that the server has before the cases, in their order. The objects of another test file that
// installs names come in its place.
func (f *File) Install(ctx context.Context) ([]manifests.Object, error) {
	return f.install(ctx, nil)
}

// install is Install. The argument within has the paths of the files that are being installed.
func (f *File) install(ctx context.Context, within []string) ([]manifests.Object, error) {
	within = append(within, filepath.Clean(f.Path))
	var objects []manifests.Object
	for i, path := range f.Installs {
		at := f.relative(path)
		field := fmt.Sprintf("installs[%d]", i)
		others, err := tests(at)
		if err != nil {
			return nil, f.Fail(field, fmt.Errorf("%q: %w", path, err))
		}
		for _, other := range others {
			if slices.Contains(within, filepath.Clean(other.Path)) {
				circle := strings.Join(append(within, filepath.Clean(other.Path)), " -> ")
				return nil, f.Fail(field, fmt.Errorf("%q: the file installs itself, by %s: leave one of these paths out", path, circle))
			}
			installed, err := other.install(ctx, within)
			if err != nil {
				return nil, err
			}
			objects = append(objects, installed...)
		}
		if len(others) > 0 {
			continue
		}
		read, err := kustomization.Load(ctx, reader, []string{at}, nil)
		if err != nil {
			return nil, f.Fail(field, fmt.Errorf("%q: %w", path, err))
		}
		objects = append(objects, read...)
	}
	for i, object := range f.Objects {
		read, err := f.objects(object, fmt.Sprintf("objects[%d]", i))
		if err != nil {
			return nil, err
		}
		objects = append(objects, read...)
	}
	return objects, nil
}

// tests returns the tests of a path that is a test file, or none.
func tests(path string) ([]*File, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil, nil // a folder, or a glob: the loader of manifests says what is wrong
	}
	content, err := os.ReadFile(path)
	if err != nil || !isTest(content) {
		return nil, err
	}
	return Read(path)
}

// reader reads the manifests of tests. It skips test files, which are often beside the manifests.
var reader = manifests.Reader{Skip: func(kind schema.GroupVersionKind) bool { return kind.Group == Group }}

// objects returns the objects of an element of a list.
func (f *File) objects(object Object, field string) ([]manifests.Object, error) {
	if object.Inline == nil {
		read, err := reader.Load(f.relative(object.Path))
		if err != nil {
			return nil, f.fail(object.Line, field, "%q: %w", object.Path, err)
		}
		return read, nil
	}
	if object.Inline.GetAPIVersion() == "" || object.Inline.GetKind() == "" {
		return nil, f.fail(object.Line, field, "apiVersion and kind must be set, as in apiVersion: v1 and kind: Pod")
	}
	return []manifests.Object{{Unstructured: object.Inline.DeepCopy(), Source: fmt.Sprintf("%s:%d", f.Path, object.Line), File: f.Path}}, nil
}
