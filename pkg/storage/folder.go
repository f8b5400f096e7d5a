package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// lockName is the file that the holder of a folder locks. It marks the folder as a member's.
	lockName = "miniapi.lock"

	// layout is the version of the layout of a data folder.
	layout = 1

	temporaryPrefix = "miniapi-"

	// lockPatience is the time to wait for a lock that this process itself has held. A child process has all open files
	// of its parent until it runs its program, and so holds locks that the parent has closed meanwhile.
	lockPatience = time.Second
)

// mountPoint is the folder that a newly formatted disk has.
const mountPoint = "lost+found"

// holder is the content of the lock file.
type holder struct {
	Layout    int       `json:"layout"`
	PID       int       `json:"pid"`
	Name      string    `json:"name,omitempty"` // Options.Holder
	Since     time.Time `json:"since"`
	Temporary bool      `json:"temporary,omitempty"`
	// Unused is true until data is stored in the folder.
	Unused bool `json:"unused,omitempty"`
}

// String describes the holder to another process that wants the folder.
func (h holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	s := fmt.Sprintf("process %d", h.PID)
	if h.Name != "" {
		s += " (" + h.Name + ")"
	}
	return s + " since " + h.Since.Local().Format(time.DateTime)
}

// Folder holds the files of one member. It is locked until it is closed.
type Folder struct {
	path    string
	holder  holder
	lock    *fileutil.LockedFile
	options Options
}

// openDataFolder opens a folder for data: a folder that a member has used, an empty folder, or one that doesn't exist
// yet.
func openDataFolder(path, name string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := mayHoldData(path); err != nil {
		return nil, fmt.Errorf("data folder %q: %w", path, err)
	}
	if err := os.MkdirAll(path, fileutil.PrivateDirMode); err != nil {
		return nil, fmt.Errorf("data folder %q: %w", path, err)
	}
	f, err := lockFolder(path, holder{Name: name})
	if err != nil {
		return nil, fmt.Errorf("data folder %q: %w", path, err)
	}
	return f, nil
}

// mayHoldData checks whether the path is a data folder or may become one, before anything is written.
func mayHoldData(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("not a folder")
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	foreign := ""
	for _, e := range entries {
		switch e.Name() {
		case lockName:
			return nil
		case mountPoint:
		default:
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return fmt.Errorf("holds %q and no %s, so it is not a data folder; use a new or empty one", foreign, lockName)
	}
	return nil
}

// openTemporaryFolder makes a folder in the first base that permits it.
func openTemporaryFolder(bases ...string) (*Folder, error) {
	var errs []error
	for _, base := range bases {
		removeAbandoned(base)
		path, err := os.MkdirTemp(base, temporaryPrefix)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f, err := lockFolder(path, holder{Temporary: true})
		if err != nil {
			errs = append(errs, err, os.RemoveAll(path))
			continue
		}
		return f, nil
	}
	return nil, fmt.Errorf("temporary folder: %w", errors.Join(errs...))
}

// removeAbandoned removes the temporary folders of processes that ended without Stop. A folder with an empty lock file
// is being made.
func removeAbandoned(base string) {
	locks, _ := filepath.Glob(filepath.Join(base, temporaryPrefix+"*", lockName))
	for _, path := range locks {
		if h, err := readHolder(path); err != nil || !h.Temporary {
			continue
		}
		lock, err := fileutil.TryLockFile(path, os.O_RDWR, fileutil.PrivateFileMode)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(filepath.Dir(path)) // the next member tries again
		_ = lock.Close()
	}
}

// lockFolder locks a folder and writes the holder to its lock file.
func lockFolder(path string, h holder) (*Folder, error) {
	name := filepath.Join(path, lockName)
	lock, err := fileutil.TryLockFile(name, os.O_RDWR|os.O_CREATE, fileutil.PrivateFileMode)
	if errors.Is(err, fileutil.ErrLocked) {
		other, _ := readHolder(name)
		if other.PID == os.Getpid() {
			lock, err = lockOwn(name)
		}
		if errors.Is(err, fileutil.ErrLocked) {
			return nil, fmt.Errorf("in use by %s", other)
		}
	}
	if err != nil {
		return nil, err
	}
	last, err := readHolder(name)
	if err == nil && last.Layout > layout {
		err = fmt.Errorf("made by a newer version (layout %d, this one knows %d)", last.Layout, layout)
	}
	f := &Folder{path: path, holder: h, lock: lock}
	if err == nil {
		f.holder.Layout, f.holder.PID, f.holder.Since = layout, os.Getpid(), time.Now()
		f.holder.Unused = last.Layout == 0 || last.Unused
		err = f.writeHolder()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return f, nil
}

// use records that the folder may have data from now on.
func (f *Folder) use() error {
	if !f.holder.Unused || f.holder.Temporary {
		return nil
	}
	f.holder.Unused = false
	return f.writeHolder()
}

// lockOwn locks a file that this process has locked before.
func lockOwn(name string) (lock *fileutil.LockedFile, err error) {
	_ = wait.PollUntilContextTimeout(context.Background(), time.Millisecond, lockPatience, true, func(context.Context) (bool, error) {
		lock, err = fileutil.TryLockFile(name, os.O_RDWR, fileutil.PrivateFileMode)
		return !errors.Is(err, fileutil.ErrLocked), nil
	})
	return lock, err
}

// awaitLog waits until child processes have released the locks of etcd's log that this process has closed: etcd doesn't
// wait.
func awaitLog(dir string) {
	syscall.ForkLock.RLock() // a child process started meanwhile would inherit the locks that are tried here
	defer syscall.ForkLock.RUnlock()
	segments, _ := filepath.Glob(filepath.Join(dir, "*.wal"))
	for _, segment := range segments {
		lock, err := lockOwn(segment)
		if err != nil {
			return // etcd reports the reason; a longer wait would delay the start of other processes
		}
		_ = lock.Close()
	}
}

// readHolder reads a lock file. A partly written file gives an empty holder: the lock, not the text, decides whether
// the folder is held.
func readHolder(name string) (holder, error) {
	var h holder
	text, err := os.ReadFile(name)
	if err != nil {
		return h, err
	}
	if json.Unmarshal(bytes.TrimSpace(text), &h) != nil {
		return holder{}, nil
	}
	return h, nil
}

func (f *Folder) writeHolder() error {
	text, err := json.Marshal(f.holder)
	if err != nil {
		return err
	}
	if err := f.lock.Truncate(0); err != nil {
		return err
	}
	_, err = f.lock.WriteAt(append(text, '\n'), 0)
	return err
}

// Close releases the folder, and removes it if it is temporary.
func (f *Folder) Close() error {
	err := f.lock.Close()
	if f.holder.Temporary {
		err = errors.Join(err, os.RemoveAll(f.path))
	}
	return err
}
