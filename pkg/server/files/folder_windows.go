package files

import "io/fs"

// isOwn returns true: on Windows, each user has a temporary folder of their own.
func isOwn(fs.FileInfo) bool { return true }
