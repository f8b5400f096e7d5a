package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestKill kills a server again and again while clients write: whatever was answered
// is there after the restart.
func TestKill(t *testing.T) {
	t.Parallel()

	const rounds, writers, answersARound = 3, 4, 60
	folder := filepath.Join(t.TempDir(), "data")
	var answered []string
	for round := range rounds {
		p, config := serve(t, "--data-dir="+folder)
		configMaps := client(t, config).CoreV1().ConfigMaps(metav1.NamespaceDefault)
		var mu sync.Mutex
		var wg sync.WaitGroup
		kill := sync.OnceFunc(func() { p.signal(t, syscall.SIGKILL) })
		until := len(answered) + answersARound
		for writer := range writers {
			wg.Go(func() {
				for i := 0; ; i++ {
					name := fmt.Sprintf("round-%d-writer-%d-%d", round, writer, i)
					_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
					if err != nil {
						return // killed
					}
					mu.Lock()
					answered = append(answered, name)
					if len(answered) == until {
						kill()
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if <-p.done; len(answered) < until {
			t.Fatalf("round %d ended after %d answers: %s", round, len(answered), p.stderr.String())
		}
	}

	_, config := serve(t, "--data-dir="+folder)
	list, err := client(t, config).CoreV1().ConfigMaps(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range answered {
		if !slices.ContainsFunc(list.Items, func(c corev1.ConfigMap) bool { return c.Name == name }) {
			t.Errorf("configmap %s was created, and is gone", name)
		}
	}
}
