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
	// settling is the pause between a change and the reading of the file: most programs truncate a file before they
	// write it.
	settling = 10 * time.Millisecond
	// patience is the time limit for applying the content of a file, as in kube-apiserver.
	patience = time.Minute
)

// File is a configuration file that is read again when it changes.
type File struct {
	// Flag is the flag that names the file, for logs. Path is the file's path.
	Flag, Path string
	// Seen is the file's content when it was read last.
	Seen []byte
	// Apply puts the data in force, or fails and leaves the old configuration in force. It must return when ctx ends.
	// Ctx also ends when the file changes again.
	Apply func(ctx context.Context, data []byte) error
	// Succeeded and Failed count the reloads.
	Succeeded func(data string)
	Failed    func()

	unreadable string // the last error of reading the file
}

// application is a call of Apply. No call is in progress if done is nil.
type application struct {
	data []byte
	done chan error
	end  context.CancelFunc
}

// Follow applies the file's content whenever it changes, until ctx ends. It returns at once if the file is a pipe, such
// as a shell's <(...): a pipe can be read only once.
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

// read returns the file's content and whether it has changed. A file that can't be read counts as one failure until the
// error changes.
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

// stop cancels the call and returns its error.
func (a application) stop() error {
	if a.done == nil {
		return nil
	}
	a.end()
	return <-a.done
}

// applied counts and logs a reload, unless it was canceled for another.
func (f *File) applied(ctx context.Context, data []byte, err error) {
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("reloaded")
		f.Succeeded(string(data))
	case !errors.Is(err, context.Canceled):
		klog.FromContext(ctx).Error(err, "not reloaded: the earlier configuration stays in force")
		f.Failed()
		if errors.Is(err, context.DeadlineExceeded) {
			f.Seen = nil // the next try may succeed
		}
	}
}
