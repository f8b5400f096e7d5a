package miniapitest_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If the server can't start, the test fails with the reason.
func TestStartFails(t *testing.T) {
	t.Parallel()
	test := &failingTest{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		miniapitest.Start(test, miniapitest.WithManifests("testdata/none"))
		t.Error("the test goes on")
	}()
	<-ended
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if want := "miniapitest: manifests: stat testdata/none: no such file or directory, from " + folder; test.said != want {
		t.Errorf("want %q, got %q", want, test.said)
	}
}

// failingTest is a testing.TB that may fail.
type failingTest struct {
	testing.TB
	said string
}

func (t *failingTest) Fatalf(format string, args ...any) {
	t.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// Servers are isolated: no test sees the objects of another.
func TestServersAreIsolated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			maps := miniapitest.Start(t).Client().CoreV1().ConfigMaps("default")
			if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			list, err := maps.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Items) != 1 {
				t.Errorf("want the one ConfigMap of this server, got %d", len(list.Items))
			}
		})
	}
}
