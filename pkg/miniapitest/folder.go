package miniapitest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
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
	unique := make([]byte, 16)
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
	removeOnce.Do(removeAbandoned)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the kubeconfig: %w", err)
	}
	name := filepath.Join(path, folderLock)
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("folder of the kubeconfig: %w", err), os.RemoveAll(path))
	}
	if !filelock.Try(lock) {
		// Without a lock, the lock file must be removed: other processes remove a folder whose lock file isn't locked.
		if err := errors.Join(lock.Close(), os.Remove(name)); err != nil {
			return nil, errors.Join(fmt.Errorf("folder of the kubeconfig: %w", err), os.RemoveAll(path))
		}
		lock = nil
	}
	f := &folder{path, lock}
	if origin != nil {
		if err := os.WriteFile(filepath.Join(path, folderOrigin), []byte(origin.last()), 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("folder of the kubeconfig: %w", err), f.remove())
		}
	}
	return f, nil
}

func (f *folder) kubeconfig() string { return filepath.Join(f.path, kubeconfigName) }

// remove removes the folder, and then releases the lock.
func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// removeAbandoned removes the folders of processes that have ended without Stop, and prints the reports in them. It
// skips a folder without a kubeconfig, because a running process may be creating this folder.
func removeAbandoned() {
	entries, _ := os.ReadDir(os.TempDir())
	for _, entry := range entries {
		path := filepath.Join(os.TempDir(), entry.Name())
		if !strings.HasPrefix(entry.Name(), folderPrefix) {
			continue
		}
		if _, err := os.Stat(filepath.Join(path, kubeconfigName)); err != nil {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(path, folderLock), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if filelock.Try(lock) {
			if last, err := os.ReadFile(filepath.Join(path, folderOrigin)); err == nil {
				reportUnstopped(string(last))
			}
			_ = os.RemoveAll(path) // if this fails, the next process tries again
		}
		_ = lock.Close()
	}
}
