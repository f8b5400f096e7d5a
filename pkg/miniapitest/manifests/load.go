package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// Object is an object of a manifest, with its source.
type Object struct {
	*unstructured.Unstructured
	// Source says in errors where the object comes from, for example a file and the number of the document.
	Source string
	// File is the path of the file that has the object, or of the folder with the kustomization. It is "" for an object of
	// another origin.
	File string
	// Content is the object in JSON. It is set if the reader has Documents and all objects of the file are custom
	// resource definitions. The object may be shared then, and must not be changed.
	Content *engine.Content
}

// Reader reads manifests. The zero value reads all objects from the file system of the machine.
type Reader struct {
	// FS is the file system of the paths. Nil stands for the file system of the machine.
	FS fs.FS
	// Wanted, if set, selects objects by their kind. The reader then also skips documents that aren't objects. If
	// Wanted is nil, every document must be an object.
	Wanted func(schema.GroupVersionKind) bool
	// Skip, if set, tells which kinds of objects the reader skips.
	Skip func(schema.GroupVersionKind) bool
	// Patch returns an error if an object is only a patch for kustomize. If the field Wanted is set, patches in folders
	// and globs are skipped. Other patches are errors.
	Patch func(*unstructured.Unstructured) error
	// KeepPatches makes the reader return a patch as an object, where the patch would otherwise be an error.
	KeepPatches bool
	// Documents, if set, caches the decoded content of files.
	Documents *Documents
}

// instead is the advice at the end of errors about files of kustomize.
const instead = `name the files of objects instead, or give the output of "kustomize build"`

// Load reads all objects of the paths from the file system of the machine.
func Load(paths ...string) ([]Object, error) { return Reader{}.Load(paths...) }

// Load reads the objects of paths. A path is a file, a glob or a folder. In a folder and its subfolders, Load reads the
// .yaml, .yml and .json files in the order of their names, except for kustomization.yaml. An error about a document
// names the file and the document.
func (r Reader) Load(paths ...string) ([]Object, error) {
	var objects []Object
	for _, name := range paths {
		if r.FS != nil && name != "" {
			name = path.Clean(name) // an fs.FS accepts only clean paths
		}
		files, err := r.Files(name)
		if err != nil {
			return nil, err
		}
		for i, file := range r.decodeAll(files) {
			read, err := r.objectsOf(file.documents, files[i], files[i] == name)
			if err == nil {
				err = file.err
			}
			for n := range read {
				read[n].File = files[i]
			}
			if err != nil {
				return nil, err
			}
			objects = append(objects, read...)
		}
	}
	return objects, nil
}

// decoded has the documents of a file and an error: the results of Documents.of.
type decoded struct {
	documents []document
	err       error
}

// decodeAll decodes several files at the same time.
func (r Reader) decodeAll(files []string) []decoded {
	all := make([]decoded, len(files))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i, file := range files {
		places <- struct{}{}
		running.Add(1)
		go func() {
			defer running.Done()
			defer func() { <-places }()
			data, err := r.read(file)
			if err != nil {
				all[i].err = err
				return
			}
			all[i].documents, all[i].err = r.Documents.of(file, data)
		}()
	}
	running.Wait()
	return all
}

// read returns the content of a file. If the file still has the content that Documents cache, read returns the cached
// content, so that the memory is shared.
func (r Reader) read(file string) ([]byte, error) {
	known := r.Documents.data(file)
	if known != nil && r.has(file, known) {
		return known, nil
	}
	if r.FS != nil {
		return fs.ReadFile(r.FS, file)
	}
	return os.ReadFile(file)
}

// compared is the number of bytes of a file that the method "has" reads and compares at a time.
const compared = 32 << 10

// has tells whether the content of a file equals the argument content. It doesn't read the whole file into memory.
func (r Reader) has(file string, content []byte) bool {
	f, err := r.open(file)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // the file is only read
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(content)) {
		return false
	}
	// For a short content, the buffer is one byte longer than the content, so that one read shows whether the file is
	// longer.
	part := make([]byte, min(compared, len(content)+1))
	for {
		n, err := f.Read(part)
		if n > len(content) || !bytes.Equal(part[:n], content[:n]) {
			return false
		}
		content = content[n:]
		if err != nil {
			return errors.Is(err, io.EOF) && len(content) == 0
		}
	}
}

func (r Reader) open(file string) (fs.File, error) {
	if r.FS != nil {
		return r.FS.Open(file)
	}
	return os.Open(file)
}

func (r Reader) stat(name string) (fs.FileInfo, error) {
	if r.FS != nil {
		return fs.Stat(r.FS, name)
	}
	return os.Stat(name)
}

// Files returns the files that Load reads for a path. A path with special characters is a glob, unless a file or a folder has
// this name.
func (r Reader) Files(name string) ([]string, error) {
	if name == "" {
		return nil, errors.New("a path is empty: give the path of a file, a glob or a folder")
	}
	info, err := r.stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, "*?["):
		return r.glob(name)
	case errors.Is(err, fs.ErrNotExist) && (name == "-" || strings.Contains(name, "://")):
		return nil, fmt.Errorf("%s: must be a file, a folder or a glob, because manifests are not read from standard input or a URL", name)
	case err != nil:
		return nil, r.from(name, err)
	case info.IsDir():
		return r.filesIn(name)
	}
	return []string{name}, nil
}

func (r Reader) glob(pattern string) ([]string, error) {
	match := filepath.Glob
	if r.FS != nil {
		match = func(pattern string) ([]string, error) { return fs.Glob(r.FS, pattern) }
	}
	names, err := match(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, r.from(pattern, fmt.Errorf("%s: no file matches the glob", pattern))
	}
	var files []string
	for _, name := range names {
		below, err := r.Files(name)
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	return files, nil
}

// from adds advice to the error about a path. The advice about a relative path of the machine is the working directory,
// because a missing file usually exists relative to another directory.
func (r Reader) from(name string, err error) error {
	if r.FS != nil && !fs.ValidPath(name) {
		return fmt.Errorf("%w: a path in an fs.FS must be relative to the root of the fs.FS, without .. and without a slash at the beginning", err)
	}
	if r.FS != nil || filepath.IsAbs(name) {
		return err
	}
	folder, unknown := os.Getwd()
	if unknown != nil {
		return err
	}
	return fmt.Errorf("%w; relative paths begin at %s", err, folder)
}

func (r Reader) filesIn(folder string) ([]string, error) {
	walk := func(root string, visit fs.WalkDirFunc) error {
		// With a separator at the end, WalkDir follows a link to a folder.
		return filepath.WalkDir(root+string(filepath.Separator), visit)
	}
	if r.FS != nil {
		walk = func(root string, visit fs.WalkDirFunc) error { return fs.WalkDir(r.FS, root, visit) }
	}
	var files []string
	err := walk(folder, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && isManifest(file) {
			files = append(files, file)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: the folder must have a .yaml, .yml or .json file", folder)
	}
	return files, err
}

func isManifest(file string) bool {
	extension := path.Ext(file)
	kustomization := strings.TrimSuffix(filepath.Base(file), extension) == "kustomization"
	return slices.Contains([]string{".yaml", ".yml", ".json"}, extension) && !kustomization
}

// Decode returns the objects of one file. It returns the items of a list as objects. Errors name the file by source.
func (r Reader) Decode(source string, data []byte) ([]Object, error) {
	documents, undecoded := r.Documents.of(source, data)
	objects, err := r.objectsOf(documents, source, true)
	if err != nil {
		return nil, err
	}
	return objects, undecoded
}

// FileOf returns the file of the Source of an object.
func FileOf(source string) string {
	file, _, _ := strings.Cut(source, ", document ")
	return file
}

// objectsOf returns the objects of documents. The argument named is true if the caller's path is the file itself, and
// not its folder or a glob.
func (r Reader) objectsOf(documents []document, source string, named bool) ([]Object, error) {
	var objects []Object
	for n, document := range documents {
		where := fmt.Sprintf("%s, document %d", source, n+1)
		found, err := r.objects(document.content, where, named)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		for i := range found {
			found[i].Content = document.encoded
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// objects returns the objects of one document, or of one item of a list. where is the Source of the objects. named is
// true if the caller's path is the file itself, and not its folder or a glob.
func (r Reader) objects(content any, where string, named bool) ([]Object, error) {
	fields, isObject := content.(map[string]any)
	u := &unstructured.Unstructured{Object: fields}
	switch {
	case content == nil, isObject && len(fields) == 0:
		return nil, nil
	case !isObject || u.GetAPIVersion() == "" || u.GetKind() == "":
		if r.Wanted != nil {
			return nil, nil
		}
		return nil, notAnObject(isObject)
	case u.IsList():
		var objects []Object
		for i, item := range fields["items"].([]any) {
			found, err := r.objects(item, where, named)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i+1, err)
			}
			objects = append(objects, found...)
		}
		return objects, nil
	case r.Wanted != nil && !r.Wanted(u.GroupVersionKind()), r.Skip != nil && r.Skip(u.GroupVersionKind()):
		return nil, nil
	case u.GroupVersionKind().Group == "kustomize.config.k8s.io":
		return nil, fmt.Errorf("kind %s is for kustomize, not for a server: %s", u.GetKind(), instead)
	}
	if r.Patch != nil {
		switch err := r.Patch(u); {
		case err != nil && r.Wanted != nil && !named:
			return nil, nil
		case err != nil && !r.KeepPatches:
			return nil, fmt.Errorf("%s %s: %w; if the document is a patch for kustomize, %s", u.GetKind(), u.GetName(), err, instead)
		}
	}
	if err := Check(u); err != nil {
		return nil, err
	}
	return []Object{{Unstructured: u, Source: where}}, nil
}

// Check returns an error for an object that no server can apply, because the object has no name, or because objects of
// its kind are never stored (such as TokenReview).
func Check(u *unstructured.Unstructured) error {
	err := checkName(u)
	switch u.GroupVersionKind().Group {
	case authenticationv1.GroupName, authorizationv1.GroupName:
		err = errors.New("a server answers objects of this kind and doesn't store them, so such an object can't be applied from a manifest: create the object with a client")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", u.GetKind(), err)
	}
	return nil
}

// checkName returns an error for a name that is missing or isn't a string. A server would say in both cases that the
// name is missing.
func checkName(u *unstructured.Unstructured) error {
	metadata, isMap := u.Object["metadata"].(map[string]any)
	switch name := metadata["name"].(type) {
	case string:
		if name != "" {
			return nil
		}
	case nil:
	default:
		return fmt.Errorf("metadata.name must be a string, and YAML reads %v: put the name in quotes", name)
	}
	switch {
	case !isMap && u.Object["metadata"] != nil:
		return errors.New("metadata must be a map, with a name")
	case u.GetGenerateName() != "":
		return errors.New("metadata.name must be set: server-side apply needs a name, and metadata.generateName works for creates alone")
	}
	return errors.New("metadata.name must be set")
}

func notAnObject(isObject bool) error {
	if isObject {
		return fmt.Errorf("apiVersion and kind must be set, for example apiVersion: v1 and kind: ConfigMap; if the file is for kustomize, %s", instead)
	}
	return fmt.Errorf("must be an object, with apiVersion and kind; if the file is for kustomize, %s", instead)
}
