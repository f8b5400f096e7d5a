package robustness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

// diskSize is the size of the disk that becomes full. A data folder needs much less.
const diskSize = 128 << 20

// A server ends with an error when its disk is full, because it can store nothing. After a restart with space, it has
// each write that it has answered.
func TestDiskFull(t *testing.T) {
	needProgram(t)
	disk := t.TempDir()
	if err := syscall.Mount("robustness", disk, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		t.Skipf("no file system of %d bytes can be mounted, which needs root: %v", diskSize, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p, _, config := server(t, "server", false, "--data-dir="+filepath.Join(disk, "data"))
	full := fault{"disk: full", func(ctx context.Context, random *rand.Rand) error {
		ballast := filepath.Join(disk, "ballast")
		if err := fill(ballast); err != nil {
			return err
		}
		select {
		case <-p.ended:
		case <-ctx.Done(): // without further writes, the server may meet the full disk late or never
			return errors.Join(os.Remove(ballast), p.end(syscall.SIGKILL), p.start(ctx))
		}
		if code, reason := p.cmd.ProcessState.ExitCode(), syscall.ENOSPC.Error(); code != 1 || !strings.Contains(p.output.String(), reason) {
			return fmt.Errorf("want the exit code 1 and %q, got %d: %s", reason, code, p.output)
		}
		return errors.Join(os.Remove(ballast), p.start(ctx))
	}}
	survive(t, 0.1, consistency.Options{Configs: []*rest.Config{config}}, []fault{full})
}

// fill writes a file until the disk is full.
func fill(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; chunk = chunk[:len(chunk)/2] {
		for err = nil; err == nil; {
			_, err = file.Write(chunk)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return nil
}
