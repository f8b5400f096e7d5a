//go:build unix

package storage

import (
	"io/fs"
	"os"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

const (
	// safely has the flags with which tryLock opens a file that another user may have made: opening a link is an error,
	// and opening a pipe doesn't wait for the pipe's other end.
	safely = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

	// create makes tryLock create a missing file.
	create = os.O_CREATE
)

// isPrivate reports whether a folder belongs to the user of this process, and no other user may enter it.
func isPrivate(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm() == fileutil.PrivateDirMode && int(stat.Uid) == os.Geteuid()
}
