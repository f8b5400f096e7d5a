package storage

import "io/fs"

const (
	// safely is 0, because users of Windows don't share a temporary folder.
	safely = 0

	// create is 0, because etcd's library creates a missing file with any flags, and refuses os.O_CREATE.
	create = 0
)

// isPrivate reports whether a file is a folder. On Windows, the temporary folder belongs to the user of this process.
func isPrivate(info fs.FileInfo) bool { return info.IsDir() }
