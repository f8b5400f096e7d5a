package storage

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	sharedMemory = "/dev/shm"

	// memberBytes is the free space that a temporary member needs in /dev/shm. Containers often have 64 MB in
	// /dev/shm, which is enough for most tests.
	memberBytes = 32 << 20
)

// temporaryBases returns the folders in which a temporary folder may be made, the best folder first.
func temporaryBases() []string {
	var fs unix.Statfs_t
	if unix.Statfs(sharedMemory, &fs) == nil && fs.Type == unix.TMPFS_MAGIC && fs.Bavail*uint64(fs.Bsize) >= memberBytes {
		return []string{sharedMemory, os.TempDir()}
	}
	return []string{os.TempDir()}
}
