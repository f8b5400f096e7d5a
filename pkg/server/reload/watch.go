package reload

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
)

const (
	// unnoticed is the interval for reading a file whose folders are watched. Some changes aren't reported, for example
	// in a network file system.
	unnoticed = time.Minute
	// unwatched is the interval for reading a file while one of its folders can't be watched, for example because the
	// folder is missing.
	unwatched = time.Second
	// longest is the largest number of symbolic links that a path may lead through. Linux has the same limit.
	longest = 40
)

// watch reports changes in the folders of a path: in the folder of the file, and in the folder of each symbolic link of
// the path. Watching the file itself isn't enough: most editors replace the file, and Kubernetes replaces a link to a
// folder.
type watch struct {
	path    string
	changes <-chan fsnotify.Event
	missed  <-chan error      // errors of the watcher: some changes may not have been reported
	watcher *fsnotify.Watcher // nil if the system allows no watcher
}

func newWatch(ctx context.Context, path string) *watch {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		klog.FromContext(ctx).Error(err, "the file can't be watched, so the server reads it every second")
		return &watch{path: path}
	}
	return &watch{path: path, changes: watcher.Events, missed: watcher.Errors, watcher: watcher}
}

func (w *watch) close() {
	if w.watcher != nil {
		_ = w.watcher.Close()
	}
}

// renew watches the folders that the path leads through at the moment. It returns the time after which the caller must
// read the file and call renew again if no change is reported.
func (w *watch) renew() time.Duration {
	if w.watcher == nil {
		return unwatched
	}
	wanted := folders(w.path)
	next := w.watchOnly(wanted)
	// A link that has changed before its folder was watched isn't reported, so the caller must read the file at once.
	if !slices.Equal(wanted, folders(w.path)) {
		return 0
	}
	return next
}

func (w *watch) watchOnly(wanted []string) (next time.Duration) {
	for _, folder := range w.watcher.WatchList() {
		if !slices.Contains(wanted, folder) {
			_ = w.watcher.Remove(folder)
		}
	}
	next = unnoticed
	for _, folder := range wanted {
		if err := w.watcher.Add(folder); err != nil {
			next = unwatched
		}
	}
	return next
}

// folders returns the folders in which a change can make the path refer to another file.
func folders(path string) []string {
	var found []string
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	for range longest {
		folder, link := firstLink(path)
		found = append(found, folder)
		if link == "" {
			break
		}
		path = link
	}
	return found
}

// firstLink returns the folder of the first symbolic link in a path, and the path with the link replaced by its target.
// For a path without links, it returns the folder of the path, and "".
func firstLink(path string) (folder, leads string) {
	for end := 1; end <= len(path); end++ {
		if end < len(path) && path[end] != filepath.Separator {
			continue
		}
		target, err := os.Readlink(path[:end])
		if err != nil {
			continue
		}
		folder := filepath.Dir(path[:end])
		if !filepath.IsAbs(target) {
			target = filepath.Join(folder, target)
		}
		return folder, filepath.Join(target, strings.TrimPrefix(path[end:], string(filepath.Separator)))
	}
	return filepath.Dir(path), ""
}
