//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openFile opens a file that another user may have made: opening a link is an error, and opening a pipe doesn't wait for
// the pipe's other end.
func openFile(name string, flag int) (*os.File, error) {
	return os.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

func lock(file *os.File) error {
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrLocked
	default:
		return fmt.Errorf("locking %s: %w: %w", file.Name(), errors.ErrUnsupported, err)
	}
}

// IsPrivate reports whether a folder belongs to the user of this process, and no other user may enter it.
func IsPrivate(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm() == 0o700 && int(stat.Uid) == os.Geteuid()
}
