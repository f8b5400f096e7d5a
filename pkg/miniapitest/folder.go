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
)

const (
	folderPrefix   = "miniapitest-"
	folderLock     = "lock"
	kubeconfigName = "kubeconfig"
	// folderOrigin is the file with the report about a server that wasn't stopped.
	folderOrigin = "origin"
)

// folder holds the files of one server. The lock tells other processes that the folder is in use.
type folder struct {
	path string
	lock *os.File // nil on systems without such locks
}

// removeOnce removes abandoned folders, once in a process: a folder is abandoned when its process has ended.
var removeOnce sync.Once

// folderPath returns the path of a new folder. It is known before the folder is made, so that an engine can remove the
// folder however this process ends.
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

// newFolder makes a folder. With an origin, the next process reports the server if it wasn't stopped.
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
	if !tryLock(lock) {
		// Without a lock file, other processes don't take the folder for abandoned.
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

// remove removes the folder, and unlocks it afterwards.
func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// removeAbandoned removes the folders of processes that ended without Stop. A folder without a kubeconfig is being
// made.
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
		if tryLock(lock) {
			if last, err := os.ReadFile(filepath.Join(path, folderOrigin)); err == nil {
				reportUnstopped(string(last))
			}
			_ = os.RemoveAll(path) // the next process tries again
		}
		_ = lock.Close()
	}
}
