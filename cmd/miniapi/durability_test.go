package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// The server is killed several times while clients write. After the last restart, it has every write that it has
// answered.
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
						return // an error means that the server is killed
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

// The test removes the folder in which etcd makes the next segment of its log, so that etcd fails, as with a full disk.
// The server must then end with an error. A server that continued would never answer requests.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	p, config := serve(t, "--data-dir="+folder)
	if err := os.RemoveAll(filepath.Join(folder, "member", "wal")); err != nil {
		t.Fatal(err)
	}
	configMaps := client(t, config).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	large := map[string]string{"a": strings.Repeat("a", 900_000)}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-p.done:
		case <-ctx.Done():
		}
	}()
	var refused error
	for i := 0; i < 10 && refused == nil; i++ { // a segment of the log has room for two of these objects
		_, refused = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}, Data: large}, metav1.CreateOptions{})
	}
	if refused == nil || !strings.Contains(refused.Error(), fmt.Sprintf("etcd in %q has failed: ", folder)) {
		t.Errorf("want the write to be answered with the reason, got %v", refused)
	}
	code, _, stderr := p.exit(t)
	if want := fmt.Sprintf("Error: --data-dir: etcd in %q has failed: ", folder); code != cli.ExitFailed || !strings.Contains(stderr, want) || strings.Count(stderr, "failed: ") != 1 {
		t.Errorf("want exit code %d and %q, once, got %d and %s", cli.ExitFailed, want, code, stderr)
	}
}
