//go:build unix

package miniapitest

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// nobody is the UID of another user.
const nobody = 65534

// A test process removes the folders of processes that have ended without Stop, and prints their reports. It neither waits
// for, prints nor removes what another user puts into the shared temporary folder. The test would hang if the process
// waited for a pipe.
func TestAbandonedFolders(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, secret, "secret")
	for _, test := range []struct {
		name, reason string
		prepare      func(t *testing.T, path string) error
		stays        bool
		report       string
	}{
		{"empty", "the process died before it made the lock", func(_ *testing.T, _ string) error { return nil }, false, ""},
		{"lock alone", "the process died before it wrote the kubeconfig", func(t *testing.T, path string) error {
			t.Helper()
			write(t, filepath.Join(path, folderLock), "")
			return nil
		}, false, ""},
		{"report", "the process died without Stop", func(t *testing.T, path string) error {
			t.Helper()
			write(t, filepath.Join(path, folderLock), "")
			write(t, filepath.Join(path, kubeconfigName), "")
			write(t, filepath.Join(path, folderOrigin), "not stopped")
			return nil
		}, false, "not stopped"},
		{"link as the report", "the process would print any file of its user", func(t *testing.T, path string) error {
			t.Helper()
			write(t, filepath.Join(path, folderLock), "")
			return os.Symlink(secret, filepath.Join(path, folderOrigin))
		}, false, ""},
		{"pipe as the report", "the process would wait for the other end of the pipe", func(t *testing.T, path string) error {
			t.Helper()
			write(t, filepath.Join(path, folderLock), "")
			return syscall.Mkfifo(filepath.Join(path, folderOrigin), 0o666)
		}, false, ""},
		{"pipe as the lock", "the process would wait for the other end of the pipe", func(_ *testing.T, path string) error {
			return syscall.Mkfifo(filepath.Join(path, folderLock), 0o666)
		}, true, ""},
		{"link as the folder", "the process would remove files elsewhere", func(t *testing.T, path string) error {
			t.Helper()
			victim := t.TempDir()
			write(t, filepath.Join(victim, folderLock), "")
			write(t, filepath.Join(victim, folderOrigin), "secret")
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink(victim, path)
		}, true, ""},
		{"folder with more permissions", "other users may change its files at any time", func(t *testing.T, path string) error {
			t.Helper()
			write(t, filepath.Join(path, folderLock), "")
			write(t, filepath.Join(path, folderOrigin), "other user's")
			return os.Chmod(path, 0o777)
		}, true, ""},
		{"folder of another user", "only its owner may remove it", func(t *testing.T, path string) error {
			t.Helper()
			if os.Geteuid() != 0 {
				t.Skip("only root can make a folder of another user")
			}
			write(t, filepath.Join(path, folderLock), "")
			write(t, filepath.Join(path, folderOrigin), "other user's")
			return os.Chown(path, nobody, nobody)
		}, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			path := filepath.Join(temporary, folderPrefix+strings.Repeat("0", 2*uniqueBytes))
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.prepare(t, path); err != nil {
				t.Fatal(err)
			}
			reports := ""
			removeAbandoned(temporary, func(report string) { reports += report })
			if reports != test.report {
				t.Errorf("want the report %q, got %q: %s", test.report, reports, test.reason)
			}
			if _, err := os.Lstat(path); (err == nil) != test.stays {
				t.Errorf("stat says %v, want the folder to stay %t: %s", err, test.stays, test.reason)
			}
		})
	}
}

// Processes that start at the same time don't remove one another's folders.
func TestFoldersAtOnce(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			path := filepath.Join(temporary, folderPrefix+strings.Repeat(string(rune('0'+worker)), 2*uniqueBytes))
			for range 50 {
				removeAbandoned(temporary, func(report string) { t.Errorf("a folder without a report has the report %q", report) })
				f, err := makeFolder(path)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(filepath.Join(path, folderLock)); err != nil {
					t.Errorf("the folder of a running process: %v", err)
				}
				if err := f.remove(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("want no folder to be left, got %v, %v", left, err)
	}
}
