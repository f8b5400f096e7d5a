//go:build unix

package storage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// nobody is the UID of another user.
const nobody = 65534

// Another user of the machine can't stop a start, or have it remove or change files, by what the user puts into the shared
// temporary folder. The test would hang if a start waited for a pipe.
func TestFilesOfOtherUsers(t *testing.T) {
	t.Parallel()
	abandoned, err := json.Marshal(holder{Layout: layout, Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason string
		// prepare makes what another user puts at the path of a temporary folder.
		prepare func(t *testing.T, path string) error
	}{
		{"pipe as the lock", "the start would wait for the other end of the pipe", func(t *testing.T, path string) error {
			t.Helper()
			return syscall.Mkfifo(filepath.Join(folder(t, path), lockName), 0o666)
		}},
		{"link as the lock", "the start would lock a file of this user", func(t *testing.T, path string) error {
			t.Helper()
			victim := filepath.Join(t.TempDir(), "victim")
			writeFile(t, victim, string(abandoned))
			return os.Symlink(victim, filepath.Join(folder(t, path), lockName))
		}},
		{"pipe as the folder", "the start would wait for the other end of the pipe", func(_ *testing.T, path string) error {
			return syscall.Mkfifo(path, 0o666)
		}},
		{"link as the folder", "the start would remove files elsewhere", func(t *testing.T, path string) error {
			t.Helper()
			victim := t.TempDir()
			writeFile(t, filepath.Join(victim, lockName), string(abandoned))
			return os.Symlink(victim, path)
		}},
		{"folder with more permissions", "other users may change its files at any time", func(t *testing.T, path string) error {
			t.Helper()
			writeFile(t, filepath.Join(path, lockName), string(abandoned))
			return os.Chmod(path, 0o777)
		}},
		{"folder of another user", "only its owner may remove it", func(t *testing.T, path string) error {
			t.Helper()
			if os.Geteuid() != 0 {
				t.Skip("only root can make a folder of another user")
			}
			writeFile(t, filepath.Join(path, lockName), string(abandoned))
			return os.Chown(path, nobody, nobody)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			path := filepath.Join(base, temporaryPrefix+"1")
			if err := test.prepare(t, path); err != nil {
				t.Fatal(err)
			}
			f, err := openTemporaryFolder(base)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("the start has removed what the other user has made: %v: %s", err, test.reason)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// folder makes a private folder, and returns its path.
func folder(t *testing.T, path string) string {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A start neither writes to what a link in a data folder names, nor waits for a pipe in it.
func TestLockFilesThatAreNoFiles(t *testing.T) {
	t.Parallel()
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	writeFile(t, victim, "precious")
	if err := os.Symlink(victim, filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	startFails(t, dir, lockName, "another user may have made the link")
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the start has changed the file to %q, %v", text, err)
	}
	dir = t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, lockName), 0o600); err != nil {
		t.Fatal(err)
	}
	startFails(t, dir, lockName+" must be a regular file", "the start would wait for the other end of the pipe")
}

// A new child process inherits the locks of its parent, and holds them until it runs its own program.
// TestLocksOfForks checks that a member waits until a child process has released the locks.
//
//nolint:paralleltest // child processes of other tests would hold these locks too
func TestLocksOfForks(t *testing.T) {
	// giveUp stands for a child process that holds an inherited lock: it closes the locked file after half of
	// lockPatience.
	giveUp := func(t *testing.T, lock *fileutil.LockedFile) {
		t.Helper()
		fork, err := syscall.Dup(int(lock.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(lockPatience/2, func() { _ = syscall.Close(fork) })
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("folder", func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			f, err := openDataFolder(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			giveUp(t, f.lock)
			if f, err = openDataFolder(dir, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := openDataFolder(dir, ""); err == nil || !strings.Contains(err.Error(), "in use by process") {
				t.Errorf("want a lock that isn't given up to be respected, got %v", err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("log", func(t *testing.T) {
		dir := t.TempDir()
		segment := filepath.Join(dir, "0.wal")
		synctest.Test(t, func(t *testing.T) {
			lock, err := fileutil.TryLockFile(segment, os.O_RDWR|os.O_CREATE, fileutil.PrivateFileMode)
			if err != nil {
				t.Fatal(err)
			}
			giveUp(t, lock)
			awaitLog(dir)
			if lock, err = fileutil.TryLockFile(segment, os.O_RDWR, fileutil.PrivateFileMode); err != nil {
				t.Fatal(err)
			}
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
		})
	})
}
