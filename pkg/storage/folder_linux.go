package storage

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	sharedMemory = "/dev/shm"

	// memberBytes is the free memory that a temporary member needs. Containers often have 64 MB there, which is enough
	// for their tests.
	memberBytes = 32 << 20
)

// temporaryBases returns the folders for temporary folders, the best one first.
func temporaryBases() []string {
	var fs unix.Statfs_t
	if unix.Statfs(sharedMemory, &fs) == nil && fs.Type == unix.TMPFS_MAGIC && fs.Bavail*uint64(fs.Bsize) >= memberBytes {
		return []string{sharedMemory, os.TempDir()}
	}
	return []string{os.TempDir()}
}
