// Package filewatch reports which of several files and folders have changed, for commands that repeat their work after a
// change. [New] is the way in. Don't use it for the files of a server's flags: package reload of the server follows one
// file, whatever the system reports.
package filewatch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// together is the time within which further changes belong to the first one, because an editor makes several for a save.
const together = 30 * time.Millisecond

// Watcher reports changed files.
type Watcher struct{ watcher *fsnotify.Watcher }

// New returns a watcher of no path. The caller must call Close.
func New() (*Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &Watcher{watcher}, nil
}

// Close releases the watcher.
func (w *Watcher) Close() error { return w.watcher.Close() }

// Add watches paths from now on: files, folders with their subfolders, and globs.
func (w *Watcher) Add(paths ...string) error {
	for _, path := range paths {
		if err := w.addBelow(root(path)); err != nil {
			return err
		}
	}
	return nil
}

// Next waits for a change, and returns the files that have changed since the last call. It returns none when the context
// has ended.
func (w *Watcher) Next(ctx context.Context) ([]string, error) {
	var changed []string
	later := time.NewTimer(time.Hour)
	defer later.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case err := <-w.watcher.Errors:
			return nil, err
		case event := <-w.watcher.Events:
			if event.Op == fsnotify.Chmod {
				continue
			}
			if info, err := os.Stat(event.Name); err == nil && info.IsDir() {
				if err := w.addBelow(event.Name); err != nil {
					return nil, err
				}
			}
			if len(changed) == 0 {
				later.Reset(together)
			}
			changed = append(changed, event.Name)
		case <-later.C:
			if len(changed) > 0 {
				return changed, nil
			}
		}
	}
}

// root returns the folder of a path that can be watched: the folder of a file, a folder itself, or the folder above the
// first special character of a glob.
func root(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	for strings.ContainsAny(path, "*?[") {
		path = filepath.Dir(path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	for path = filepath.Dir(path); ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path // the folder of a file that doesn't exist yet may be missing, too
		}
	}
}

// addBelow watches a folder and its subfolders, but no hidden ones, such as those of a version control system.
func (w *Watcher) addBelow(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case path != folder && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		return w.watcher.Add(path)
	})
}

// Concerns reports whether a path of Add is one of the changed files, or above one of them.
func Concerns(path string, changed []string) bool {
	below := root(path)
	isFile := !strings.ContainsAny(path, "*?[") && below != path
	return slices.ContainsFunc(changed, func(file string) bool {
		if isFile {
			return filepath.Clean(file) == filepath.Clean(path)
		}
		relative, err := filepath.Rel(below, file)
		return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
	})
}
