//go:build !linux

package storage

import "os"

// temporaryBases returns where to make temporary folders, the best first.
func temporaryBases() []string { return []string{os.TempDir()} }
