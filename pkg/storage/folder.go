package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// lockName is the file that a process locks while it uses the folder. The file also marks the folder as the
	// folder of a member.
	lockName = "miniapi.lock"

	// layout is the version of the layout of a data folder.
	layout = 1

	temporaryPrefix = "miniapi-"

	// makeAttempts bounds the number of temporary folders that a start makes because other starts remove them.
	makeAttempts = 10

	// lockPatience is the time to wait for a lock that this process itself has released. A child process inherits
	// all open files of its parent, and with them the locks, until it starts its own program.
	lockPatience = time.Second
)

// mountPoint is a folder that exists on newly formatted disks. A data folder that contains nothing else counts as
// empty.
const mountPoint = "lost+found"

// holder is the content of the lock file: it describes the process that holds the folder, or held it last.
type holder struct {
	Layout    int       `json:"layout"`
	PID       int       `json:"pid"`
	Name      string    `json:"name,omitempty"` // from Options.Holder
	Since     time.Time `json:"since"`
	Temporary bool      `json:"temporary,omitempty"`
	// Unused is true until the member stores data in the folder.
	Unused bool `json:"unused,omitempty"`
}

// String describes the holder, for the error of a member that can't lock the folder.
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

// openDataFolder opens a data folder. The path is a folder that a member has used, an empty folder, or a folder
// that doesn't exist yet.
func openDataFolder(path, name string) (*Folder, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %q: %w", path, err)
	}
	path = absolute
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

// mayHoldData returns nil if the path is a data folder, or can become a data folder. Otherwise the error has the
// reason. mayHoldData writes nothing.
func mayHoldData(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("must be a folder")
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
		return fmt.Errorf("holds %q and no file %s, so the folder is not a data folder: use a new or empty folder", foreign, lockName)
	}
	return nil
}

// openTemporaryFolder makes a temporary folder in the first of the bases in which it may write.
func openTemporaryFolder(bases ...string) (*Folder, error) {
	var errs []error
	for _, base := range bases {
		removeAbandoned(base)
		f, err := makeTemporaryFolder(base)
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no data folder is given, and no temporary folder can be made in %q: %w", bases, errors.Join(errs...))
}

// makeTemporaryFolder makes a temporary folder and locks it. Until the folder is locked, removeAbandoned of another
// process may remove it. Then makeTemporaryFolder makes another one.
func makeTemporaryFolder(base string) (f *Folder, err error) {
	for range makeAttempts {
		path, err := os.MkdirTemp(base, temporaryPrefix)
		if err != nil {
			return nil, err
		}
		if f, err = lockFolder(path, holder{Temporary: true}); err == nil {
			return f, nil
		}
		_ = os.RemoveAll(path)
	}
	return nil, err
}

// removeAbandoned removes the temporary folders of processes that ended without Member.Stop. The base may be shared with
// other users, who can put anything there. So removeAbandoned opens only private folders of this user.
func removeAbandoned(base string) {
	entries, _ := os.ReadDir(base)
	for _, entry := range entries {
		random, found := strings.CutPrefix(entry.Name(), temporaryPrefix)
		if !found || strings.Trim(random, "0123456789") != "" { // os.MkdirTemp appends a number
			continue
		}
		if info, err := entry.Info(); err == nil && isPrivate(info) {
			removeIfAbandoned(filepath.Join(base, entry.Name()))
		}
	}
}

// removeIfAbandoned removes a folder if no process has locked it, and if it is temporary or has no data. A process may
// have ended before it locked its folder, or before it wrote the holder.
func removeIfAbandoned(path string) {
	name := filepath.Join(path, lockName)
	lock, err := tryLock(name, 0)
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(path) // fails if the folder isn't empty
	}
	if err != nil {
		return
	}
	h, err := readHolder(name)
	entries, _ := os.ReadDir(path)
	if err == nil && (h.Temporary || h.PID == 0 && len(entries) == 1) {
		_ = removeFolder(path) // the next member tries again
	}
	_ = lock.Close()
}

// removeFolder removes a folder, and its lock file last. So removeAbandoned finds the folder if the process is killed
// meanwhile.
func removeFolder(path string) (err error) {
	entries, _ := os.ReadDir(path)
	for _, entry := range entries {
		if entry.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, entry.Name())))
		}
	}
	return errors.Join(err, os.RemoveAll(path))
}

// lockFolder locks a folder and writes the holder to its lock file.
func lockFolder(path string, h holder) (*Folder, error) {
	name := filepath.Join(path, lockName)
	lock, err := tryLock(name, os.O_CREATE)
	if errors.Is(err, fileutil.ErrLocked) {
		other, _ := readHolder(name)
		if other.PID == os.Getpid() {
			lock, err = lockOwn(name)
		}
		if errors.Is(err, fileutil.ErrLocked) {
			return nil, fmt.Errorf("in use by %s: stop that server first, or use another folder", other)
		}
	}
	if err != nil {
		return nil, err
	}
	last, err := readHolder(name)
	if err == nil && last.Layout > layout {
		err = fmt.Errorf("made by a newer miniapi: its layout is %d, and this miniapi supports layouts up to %d: use the newer miniapi, or another folder", last.Layout, layout)
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

// use records in the lock file of a data folder that the folder may have data.
func (f *Folder) use() error {
	if !f.holder.Unused || f.holder.Temporary {
		return nil
	}
	f.holder.Unused = false
	return f.writeHolder()
}

// tryLock opens and locks a regular file. It refuses links and pipes: another user may have made them, to have a file
// overwritten or to stop a start. It also refuses a file that was removed before it was locked.
func tryLock(name string, flag int) (*fileutil.LockedFile, error) {
	lock, err := openLocked(name, flag)
	if err != nil {
		return nil, err
	}
	if err := isRegular(lock.File); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// isRegular returns nil if the file is a regular file and still has its name. Otherwise the error has the reason.
func isRegular(file *os.File) error {
	opened, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(file.Name())
	switch {
	case err != nil:
		return err
	case !opened.Mode().IsRegular():
		return fmt.Errorf("%s must be a regular file", file.Name())
	case !os.SameFile(opened, named):
		return fmt.Errorf("%s was replaced while it was opened", file.Name())
	}
	return nil
}

// lockOwn locks a file that this process has locked before. It waits for child processes to release the lock (see
// lockPatience).
func lockOwn(name string) (lock *fileutil.LockedFile, err error) {
	_ = wait.PollUntilContextTimeout(context.Background(), time.Millisecond, lockPatience, true, func(context.Context) (bool, error) {
		lock, err = tryLock(name, 0)
		return !errors.Is(err, fileutil.ErrLocked), nil
	})
	return lock, err
}

// awaitLog waits until child processes have released the locks of the write-ahead log, which this process has held
// before. etcd itself would fail at once.
func awaitLog(dir string) {
	syscall.ForkLock.RLock() // a child process that starts here would inherit these locks
	defer syscall.ForkLock.RUnlock()
	segments, _ := filepath.Glob(filepath.Join(dir, "*.wal"))
	for _, segment := range segments {
		lock, err := lockOwn(segment)
		if err != nil {
			return // etcd reports the error; a longer wait would block starts of child processes
		}
		_ = lock.Close()
	}
}

// readHolder reads a lock file. For a file that is only partly written, it returns an empty holder and no error,
// because only the lock determines whether a process holds the folder.
func readHolder(name string) (holder, error) {
	var h holder
	file, err := os.OpenFile(name, os.O_RDONLY|safely, 0)
	if err != nil {
		return h, err
	}
	defer file.Close()
	if err := isRegular(file); err != nil {
		return h, err
	}
	text, err := io.ReadAll(file)
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
		err = errors.Join(err, removeFolder(f.path))
	}
	return err
}
