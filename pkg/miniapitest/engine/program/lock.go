package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/filelock"
)

// lockPeriod is the time between two attempts to get a lock.
const lockPeriod = 50 * time.Millisecond

// locked calls the function do. If the system has file locks, locked holds a lock of the folder during the call, so
// that no other process downloads or builds a program in the folder at the same time.
func locked(ctx context.Context, folder string, do func() error) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return unusable(err)
	}
	var file *os.File
	said := false
	err := wait.PollUntilContextCancel(ctx, lockPeriod, true, func(context.Context) (_ bool, err error) {
		file, err = filelock.Create(filepath.Join(folder, "lock"))
		if errors.Is(err, filelock.ErrLocked) {
			if !said {
				said = true
				fmt.Fprintf(console{}, "miniapitest: another process downloads or builds the miniapi program in %s: waiting\n", folder)
			}
			return false, nil
		}
		return true, err
	})
	switch {
	case err == nil:
		defer file.Close()
	case errors.Is(err, errors.ErrUnsupported):
		// Two processes may download or build the program at the same time. The later process then replaces the file.
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the process that downloads or builds the miniapi program in %s: %w", folder, err)
	default:
		return unusable(err)
	}
	return do()
}

func unusable(err error) error {
	return fmt.Errorf("the folder of the miniapi program: %w; let the user's cache folder be one that can be written, or set $%s to the path of a miniapi program", err, Variable)
}
