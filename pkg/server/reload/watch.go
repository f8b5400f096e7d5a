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
	// unnoticed is the interval of looking at a watched file: some changes aren't reported, for example in a network's
	// file system.
	unnoticed = time.Minute
	// unwatched is the interval of looking at a file while one of its folders can't be watched, for example because it
	// is gone.
	unwatched = time.Second
	// longest is the number of links that a path may have, as in Linux.
	longest = 40
)

// watch reports changes in the folders that contain the file, or a link on the way to it. Watching the file itself is
// no use: most editors replace the file, and Kubernetes changes a link.
type watch struct {
	path    string
	changes <-chan fsnotify.Event
	missed  <-chan error      // errors, such as too many changes to report
	watcher *fsnotify.Watcher // nil if no watcher could be made
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

// renew watches the folders of the file's present path. It returns the time after which to call it again if nothing
// changes.
func (w *watch) renew() time.Duration {
	if w.watcher == nil {
		return unwatched
	}
	wanted := folders(w.path)
	next := w.watchOnly(wanted)
	// A link may have changed before its folder was watched: then look again at once.
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

// folders returns the folders in which a change can make the path lead to another file.
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

// firstLink returns the folder of the first link in a path, and the path that the link leads to. Without a link, it
// returns the folder of the path, and "".
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
