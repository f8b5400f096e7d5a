//go:build !linux

package storage

import "os"

// temporaryBases returns the folders in which a temporary folder may be made, the best folder first.
func temporaryBases() []string { return []string{os.TempDir()} }
