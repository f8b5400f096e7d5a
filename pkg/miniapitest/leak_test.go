package miniapitest_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// When the servers of all tests have stopped, no goroutine of theirs is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Fifty servers run side by side in one process, each alone.
func TestManyServers(t *testing.T) {
	t.Parallel()
	for i := range 50 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			maps := miniapitest.Start(t).Client().CoreV1().ConfigMaps("default")
			if _, err := maps.Create(t.Context(), configMap("mine"), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}
