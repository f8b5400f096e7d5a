package reload

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"k8s.io/klog/v2"
)

const (
	// settling is the pause between a change of the file and reading it. Most programs truncate a file before they
	// write it, and the pause skips the empty state.
	settling = 10 * time.Millisecond
	// patience limits the time for applying the content of a file. kube-apiserver has the same limit.
	patience = time.Minute
)

// File is a configuration file that is read again when it changes.
type File struct {
	// Flag is the flag that names the file, for logs. Path is the file's path.
	Flag, Path string
	// Seen is the content of the file when it was last read. It is nil if the next read must apply any content.
	Seen []byte
	// Apply makes the data effective, or returns an error and leaves the previous configuration in effect. It must return
	// when ctx ends: after a minute (see patience), when the file changes again, or when Follow ends.
	Apply func(ctx context.Context, data []byte) error
	// Succeeded is called after a successful reload, and Failed after a failed reload, for metrics.
	Succeeded func(data string)
	Failed    func()

	unreadable string // the error of the last read, so that it counts only once
}

// application is a call of Apply. If done is nil, there is no call in progress.
type application struct {
	data []byte
	done chan error
	end  context.CancelFunc
}

// Follow applies the file's content whenever it changes, until ctx ends. It returns at once if the path isn't a regular
// file: a pipe, such as a shell's <(...), can be read only once.
func (f *File) Follow(ctx context.Context) {
	if info, err := os.Stat(f.Path); err == nil && !info.Mode().IsRegular() {
		return
	}
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("flag", f.Flag, "file", f.Path))
	watch := newWatch(ctx, f.Path)
	defer watch.close()
	look := time.NewTimer(0)
	defer look.Stop()
	var current application
	defer func() { _ = current.stop() }()
	changing := false
	soon := func() {
		if !changing {
			look.Reset(settling)
		}
		changing = true
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.changes:
			soon()
		case err := <-watch.missed:
			klog.FromContext(ctx).V(2).Info("changes were missed", "err", err)
			soon()
		case <-look.C:
			changing = false
			look.Reset(watch.renew())
			if data, changed := f.read(ctx); changed {
				if current.done != nil {
					f.applied(ctx, current.data, current.stop())
				}
				current = f.apply(ctx, data)
			}
		case err := <-current.done:
			current.end()
			f.applied(ctx, current.data, err)
			current = application{}
		}
	}
}

// read returns the file's content, and whether the content has changed. If several reads in a row fail with the same
// error, they count as one failure.
func (f *File) read(ctx context.Context) (data []byte, changed bool) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		if f.unreadable != err.Error() {
			f.unreadable = err.Error()
			f.applied(ctx, nil, err)
		}
		return nil, false
	}
	f.unreadable = ""
	if f.Seen != nil && bytes.Equal(data, f.Seen) {
		return nil, false
	}
	f.Seen = data
	return data, true
}

func (f *File) apply(ctx context.Context, data []byte) application {
	ctx, end := context.WithTimeout(ctx, patience)
	done := make(chan error, 1)
	go func() { done <- f.Apply(ctx, data) }()
	return application{data, done, end}
}

// stop cancels the call of Apply, and returns its error.
func (a application) stop() error {
	if a.done == nil {
		return nil
	}
	a.end()
	return <-a.done
}

// applied counts and logs a call of Apply, unless the call was canceled for newer content.
func (f *File) applied(ctx context.Context, data []byte, err error) {
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("reloaded")
		f.Succeeded(string(data))
	case !errors.Is(err, context.Canceled):
		klog.FromContext(ctx).Error(err, "not reloaded: the earlier configuration stays in force")
		f.Failed()
		if errors.Is(err, context.DeadlineExceeded) {
			f.Seen = nil // with an empty Seen, the next read of the same content applies it again
		}
	}
}
