package miniapitest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/filelock"
)

const (
	folderPrefix   = "miniapitest-"
	folderLock     = "lock"
	kubeconfigName = "kubeconfig"
	// folderOrigin is the name of a file in the folder. The file has a report, which the next test process prints if
	// the server wasn't stopped.
	folderOrigin = "origin"
	// uniqueBytes is the number of random bytes in the name of a folder.
	uniqueBytes = 16
	// makeAttempts bounds the number of times that a process makes its folder because other processes remove it.
	makeAttempts = 10
)

// folder is the temporary folder with the files of one server. A locked file in the folder shows other processes that
// the folder is in use.
type folder struct {
	path string
	lock *os.File // nil if the system has no file locks
}

// removeOnce makes a process remove abandoned folders once. A folder is abandoned if its process has ended.
var removeOnce sync.Once

// folderPath returns the path for a new folder, without making it. So an engine in another process gets the path first,
// and can remove the folder even if this process is killed.
func folderPath() (string, error) {
	unique := make([]byte, uniqueBytes)
	_, err := rand.Read(unique)
	if err != nil {
		return "", fmt.Errorf("folder of the kubeconfig: %w", err)
	}
	path, err := filepath.Abs(filepath.Join(os.TempDir(), folderPrefix+hex.EncodeToString(unique)))
	if err != nil {
		return "", fmt.Errorf("folder of the kubeconfig: %w", err)
	}
	return path, nil
}

// newFolder makes the folder. With an origin, it also writes a report into the folder. If the server isn't stopped, the
// next test process prints the report.
func newFolder(path string, origin *origin) (*folder, error) {
	removeOnce.Do(func() { removeAbandoned(os.TempDir(), reportUnstopped) })
	f, err := makeFolder(path)
	if err == nil && origin != nil {
		if err = os.WriteFile(filepath.Join(path, folderOrigin), []byte(origin.last()), 0o600); err != nil {
			err = errors.Join(err, f.remove())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("folder of the kubeconfig: %w", err)
	}
	return f, nil
}

// makeFolder makes a folder and locks it. Until the folder is locked, removeAbandoned of another process may remove it.
// Then makeFolder makes it again.
func makeFolder(path string) (_ *folder, err error) {
	for range makeAttempts {
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, err
		}
		var lock *os.File
		lock, err = filelock.Create(filepath.Join(path, folderLock))
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return &folder{path, lock}, nil
		}
		_ = os.RemoveAll(path)
	}
	return nil, err
}

func (f *folder) kubeconfig() string { return filepath.Join(f.path, kubeconfigName) }

// remove removes the folder, and then releases the lock. It removes the lock file last, so that removeAbandoned finds the
// folder if the process is killed meanwhile.
func (f *folder) remove() error {
	var err error
	for _, name := range []string{kubeconfigName, folderOrigin} {
		if removeErr := os.Remove(filepath.Join(f.path, name)); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	err = errors.Join(err, os.RemoveAll(f.path))
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// removeAbandoned removes the folders of processes that have ended without Stop, and passes the reports in them to the
// function report. Other users may share the folder temporary and can put anything there, so removeAbandoned opens only
// private folders of this user.
func removeAbandoned(temporary string, report func(string)) {
	entries, _ := os.ReadDir(temporary)
	for _, entry := range entries {
		if !isFolderName(entry.Name()) {
			continue
		}
		if info, err := entry.Info(); err != nil || !filelock.IsPrivate(info) {
			continue
		}
		path := filepath.Join(temporary, entry.Name())
		lock, err := filelock.Open(filepath.Join(path, folderLock))
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(path) // fails if the folder isn't empty
		}
		if err != nil {
			continue
		}
		if last, err := filelock.ReadFile(filepath.Join(path, folderOrigin)); err == nil {
			report(string(last))
		}
		_ = (&folder{path, lock}).remove() // if this fails, the next process tries again
	}
}

// isFolderName reports whether folderPath makes such names.
func isFolderName(name string) bool {
	encoded, found := strings.CutPrefix(name, folderPrefix)
	unique, err := hex.DecodeString(encoded)
	return found && err == nil && len(unique) == uniqueBytes
}
