package podfiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file of a volume.
type File struct {
	Data []byte
	Mode fs.FileMode
}

// current is the link to the folder that has the files of a volume. As with a kubelet, the files of the volume are links
// through it, so that all of them change at the same time.
const current = "..data"

// write makes the files of a volume those of content, by their paths. Files that don't change aren't written.
func write(folder string, content map[string]File) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	old, _ := os.Readlink(filepath.Join(folder, current))
	if old != "" && same(filepath.Join(folder, old), content) {
		return nil
	}
	next, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	for path, file := range content {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("the path %q of a file leads out of its volume", path)
		}
		name := filepath.Join(next, path)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, file.Data, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(name, file.Mode); err != nil {
			return err
		}
	}
	temporary := filepath.Join(folder, "..data_tmp")
	if err := errors.Join(removed(temporary), os.Symlink(filepath.Base(next), temporary), os.Rename(temporary, filepath.Join(folder, current))); err != nil {
		return err
	}
	if err := link(folder, content); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(folder, old))
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// link makes the links to the files, and removes those to files that are gone.
func link(folder string, content map[string]File) error {
	var names []string
	for path := range content {
		name, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		names = append(names, name)
		err := os.Symlink(filepath.Join(current, name), filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 && e.Name() != current && !slices.Contains(names, e.Name()) {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// same reports whether a folder has exactly the files.
func same(folder string, content map[string]File) bool {
	found := 0
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		found++
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		file, ok := content[filepath.ToSlash(name)]
		if !ok {
			return fs.ErrInvalid
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && (info.Mode().Perm() != file.Mode.Perm() || !bytes.Equal(data, file.Data)) {
			err = fs.ErrInvalid
		}
		return err
	})
	return err == nil && found == len(content)
}
