package reviews

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// Writer writes exchanges into a folder, each to a file. It is safe for concurrent use.
//
// The name of a file consists of the webhook, the operation and the object, as in
// MutatingWebhookConfiguration/my-configuration/pods.example.com/create-pods-default-web.json. Other exchanges with the
// same name get a number. An exchange that is equal to an earlier one, such as a retry, gets no file. A new recording
// replaces files with the same name, and leaves all other files unchanged.
type Writer struct {
	dir string

	mu sync.Mutex
	// written has the contents that were written for each name.
	written map[string][][]byte
}

// NewWriter returns a writer for a folder. It makes the folder if needed, and returns an error if no file can be
// written there.
func NewWriter(dir string) (*Writer, error) {
	if dir == "" {
		return nil, errors.New("the path of the folder for reviews is empty: name a folder, such as testdata/reviews")
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = tryFile(dir)
	}
	if err != nil {
		var of *fs.PathError
		if errors.As(err, &of) {
			err = of.Err // without the path, because the new error names the folder
		}
		return nil, fmt.Errorf("folder for reviews %q: must be a folder in which files can be made, with space left: %w", dir, err)
	}
	return &Writer{dir: dir, written: map[string][][]byte{}}, nil
}

// tryFile writes a file of the size of a small review into a folder, and removes the file.
func tryFile(dir string) error {
	file, err := os.CreateTemp(dir, ".miniapi-*")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, 4<<10))
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// replaceFile writes a file in one step, and replaces an existing file or symbolic link. If writing fails, an older file
// with the name stays as it was.
func replaceFile(path string, content []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".miniapi-*")
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	if err = errors.Join(err, part.Chmod(0o644), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		_ = os.Remove(part.Name()) // the first error counts
	}
	return err
}

// Write normalises an exchange and writes a file. It returns the path, or "" if an equal exchange was written before.
func (w *Writer) Write(e Exchange) (path string, err error) {
	if e, err = e.Normalise(); err != nil {
		return "", err
	}
	name, err := e.name()
	if err != nil {
		return "", err
	}
	content, err := tree.Encode(e)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.written[name] {
		if bytes.Equal(other, content) {
			return "", nil
		}
	}
	path = filepath.Join(w.dir, filepath.FromSlash(name))
	if others := len(w.written[name]); others > 0 {
		path += fmt.Sprintf("-%d", others+1)
	}
	path += ending
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if err := replaceFile(path, content); err != nil {
		return "", err
	}
	w.written[name] = append(w.written[name], content)
	return path, nil
}

// ending is the ending of the names of the files.
const ending = ".json"

// unfit matches characters that are replaced in the names of files.
var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// name returns the path of the exchange's file relative to the folder, with slashes and without the ending.
func (e Exchange) name() (string, error) {
	request, _, err := e.trees()
	if err != nil {
		return "", err
	}
	review := tree.At(request, "request")
	object := tree.Text(review, "name")
	for _, path := range [][]string{{"object", "metadata", "name"}, {"object", "metadata", "generateName"}, {"oldObject", "metadata", "name"}} {
		if object == "" {
			object = tree.Text(review, path...)
		}
	}
	var parts []string
	for _, part := range []string{strings.ToLower(tree.Text(review, "operation")), tree.Text(review, "resource", "resource"), tree.Text(review, "subResource"), tree.Text(review, "namespace"), object} {
		if part = unfit.ReplaceAllString(part, "_"); part != "" {
			parts = append(parts, strings.Trim(part, "."))
		}
	}
	file := strings.Join(parts, "-")
	if file == "" {
		file = "review"
	}
	return e.folder() + "/" + file, nil
}

// folder returns the relative path of the webhook's folder, with slashes.
func (e Exchange) folder() string {
	var parts []string
	webhook := e.Webhook
	if webhook == "" {
		webhook = e.Path
	}
	for _, part := range strings.Split(webhook, "/") {
		if part = strings.Trim(unfit.ReplaceAllString(part, "_"), "."); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "webhook"
	}
	return strings.Join(parts, "/")
}

// File is a file of a recording, with the exchange that it contains.
type File struct {
	// Path is the path of the file. Name is the path relative to the folder, with slashes.
	Path, Name string
	Exchange
}

// Read returns the recordings in the .json files of a folder and of its subfolders, in the order of the files' names.
func Read(dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ending {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		file := File{Path: path, Name: filepath.ToSlash(name)}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&file.Exchange); err != nil {
			return fmt.Errorf("%s: must be a file that a recording has written: %w", path, err)
		}
		if _, _, err := file.trees(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, file)
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("folder %s: must have files with the ending %s, which a recording writes", dir, ending)
	}
	return files, err
}

// Rewrite replaces the exchange in the file.
func (f File) Rewrite(e Exchange) error {
	content, err := tree.Encode(e)
	if err != nil {
		return err
	}
	return replaceFile(f.Path, content)
}
