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
	// unnoticed is how often a file is looked at whose changes may not be told of, as on a network's file system.
	unnoticed = time.Minute
	// unwatched is how often it is looked at while one of its folders can't be watched, such as one that is gone.
	unwatched = time.Second
	// longest is how many links a path may have, as in Linux.
	longest = 40
)

// watch tells of changes in the folders that a file, and the links on the way to it, are in. A file itself can't
// be watched: most editors put another in its place, and Kubernetes changes a link.
type watch struct {
	path    string
	changes <-chan fsnotify.Event
	missed  <-chan error      // of more changes than can be told of, for one
	watcher *fsnotify.Watcher // nil if there is none to be had
}

func newWatch(ctx context.Context, path string) *watch {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		klog.FromContext(ctx).Error(err, "the file can't be watched: it is looked at every second")
		return &watch{path: path}
	}
	return &watch{path: path, changes: watcher.Events, missed: watcher.Errors, watcher: watcher}
}

func (w *watch) close() {
	if w.watcher != nil {
		_ = w.watcher.Close()
	}
}

// renew watches the folders as they are now, and returns when to do it again if nothing changes.
func (w *watch) renew() time.Duration {
	if w.watcher == nil {
		return unwatched
	}
	wanted := folders(w.path)
	next := w.watchOnly(wanted)
	// Of a link that changes before its folder is watched nobody tells.
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

// folders are those in which a change makes a path lead to something else.
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

// firstLink returns the folder of the first link in a path, and where the path leads by it: the folder of the path
// itself, and nothing, if it has none.
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
