package miniapitest_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// When the servers of all tests have stopped, no goroutine of theirs is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Fifty servers run at the same time in one process, each alone.
func TestManyServers(t *testing.T) {
	t.Parallel()
	const n = 50
	var starting, running sync.WaitGroup
	starting.Add(n)
	for range n {
		running.Go(func() {
			srv, err := miniapitest.New(t.Context())
			starting.Done()
			if err != nil {
				t.Error(err)
				return
			}
			starting.Wait()
			maps := srv.Client().CoreV1().ConfigMaps("default")
			if _, err := maps.Create(t.Context(), configMap("mine"), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
			if err := srv.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}
