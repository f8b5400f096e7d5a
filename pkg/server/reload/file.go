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
	// settling is for how long a file that changes is left alone: most programs truncate it before they write.
	settling = 10 * time.Millisecond
	// patience is for how long what a file holds may take to be applied, as in kube-apiserver.
	patience = time.Minute
)

// File is a configuration file that is followed.
type File struct {
	// Flag names the file to the user, and Path is where it is.
	Flag, Path string
	// Seen is what the file held when it was read last.
	Seen []byte
	// Apply makes data count, or fails and leaves what counted. It returns when ctx ends, which is when the file
	// has changed again, too.
	Apply func(ctx context.Context, data []byte) error
	// Succeeded and Failed count the reloads.
	Succeeded func(data string)
	Failed    func()

	unreadable string // why it couldn't be read
}

// application of what a file holds, under way unless done is nil.
type application struct {
	data []byte
	done chan error
	end  context.CancelFunc
}

// Follow applies what the file holds whenever that changes, until ctx ends. It returns at once if the file is a
// pipe, as a shell's <(...) is one: it can be read once.
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

// read returns what the file holds if it is another than before. That it can't be read is a failure once.
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

// stop ends what is under way, and tells what became of it.
func (a application) stop() error {
	if a.done == nil {
		return nil
	}
	a.end()
	return <-a.done
}

// applied counts and logs a reload, unless another has taken its place.
func (f *File) applied(ctx context.Context, data []byte, err error) {
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("reloaded")
		f.Succeeded(string(data))
	case !errors.Is(err, context.Canceled):
		klog.FromContext(ctx).Error(err, "not reloaded: what was in force stays")
		f.Failed()
		if errors.Is(err, context.DeadlineExceeded) {
			f.Seen = nil // what it waits for may be there the next time
		}
	}
}
