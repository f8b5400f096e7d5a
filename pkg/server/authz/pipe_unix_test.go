//go:build unix

package authz

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// TestConfigFromPipe reads the configuration from a pipe, such as a shell's <(...). A pipe can be read only once:
// Build reads it, and the checks of the options must not.
func TestConfigFromPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := os.WriteFile(pipe, []byte(configHead+denyMode), 0o600); err != nil {
			t.Error(err)
		}
	})
	options := parse(t, "--authorization-config="+pipe)
	if errs := options.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	built, err := options.Build(t.Context(), informers.NewSharedInformerFactory(fake.NewClientset(), 0), "test")
	if err != nil || !slices.Equal(built.Modes, []string{ModeAlwaysDeny}) {
		t.Errorf("got %+v and %v, want what is written into the pipe", built, err)
	}
	writing.Wait()
}
