//go:build unix

package storage

import (
	"io/fs"
	"os"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// safely has the flags with which a file is opened that another user may have made: opening a link is an error, and
// opening a pipe doesn't wait for the pipe's other end.
const safely = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// openLocked opens and locks a file. If the flag is os.O_CREATE, it makes a missing file.
func openLocked(name string, flag int) (*fileutil.LockedFile, error) {
	return fileutil.TryLockFile(name, os.O_RDWR|safely|flag, fileutil.PrivateFileMode)
}

// isPrivate reports whether a folder belongs to the user of this process, and no other user may enter it.
func isPrivate(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm() == fileutil.PrivateDirMode && int(stat.Uid) == os.Geteuid()
}
