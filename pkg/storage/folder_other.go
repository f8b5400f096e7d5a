//go:build !linux

package storage

import "os"

// temporaryBases returns the folders for temporary folders, the best one first.
func temporaryBases() []string { return []string{os.TempDir()} }
