//go:build unix

package reload

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe isn't followed: reading it again would wait for a writer.
func TestFollowNoPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	do(t, syscall.Mkfifo(path, 0o600))
	(&File{Path: path}).Follow(t.Context())
}
