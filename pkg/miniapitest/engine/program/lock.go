package program

import (
	"context"
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
// that no other process builds a program in the folder at the same time.
func locked(ctx context.Context, folder string, do func() error) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("the folder of the miniapi program: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("the folder of the miniapi program: %w", err)
	}
	defer file.Close()
	said := false
	if err := wait.PollUntilContextCancel(ctx, lockPeriod, true, func(context.Context) (bool, error) {
		// On a system without file locks, two processes may build the program at the same time. The later process then
		// replaces the file.
		free := !filelock.Supported || filelock.Try(file)
		if !free && !said {
			said = true
			fmt.Fprintf(console{}, "miniapitest: another process builds the miniapi program in %s: waiting\n", folder)
		}
		return free, nil
	}); err != nil {
		return fmt.Errorf("waiting for the process that builds the miniapi program in %s: %w", folder, err)
	}
	return do()
}
