//go:build unix

package robustness_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

// A server with a data folder keeps its promises while it is killed, stopped and paused, while its disk is slow, and
// while its clients lose their connections. Lists are long, so the first ones after each start make the watch cache.
func TestEmbedded(t *testing.T) {
	needProgram(t)
	p, l, config := server(t, "server", false, "--data-dir="+filepath.Join(t.TempDir(), "data"))
	survive(t, 0.35, consistency.Options{Configs: []*rest.Config{config}, Others: longList},
		ends(t, "server", p), faults("client to server", l))
}

// The cases find it if a server loses answered writes: after its second kill, it starts with the data from after the
// first.
func TestLostWritesAreFound(t *testing.T) {
	needProgram(t)
	data, kept := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "kept")
	p, _, config := server(t, "server", false, "--data-dir="+data)
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	loses := func(ctx context.Context) (map[string]int, error) {
		errs := []error{p.end(syscall.SIGKILL), os.CopyFS(kept, os.DirFS(data)), p.start(ctx)}
		for range 50 { // meanwhile, the clients write, too
			_, err := c.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(context.WithoutCancel(ctx), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "lost-"}}, metav1.CreateOptions{})
			errs = append(errs, err)
		}
		errs = append(errs, p.end(syscall.SIGKILL), os.RemoveAll(data), os.CopyFS(data, os.DirFS(kept)), p.start(ctx))
		return map[string]int{"server: writes lost": 1}, errors.Join(errs...)
	}
	results, _ := judge(t, 0.05, consistency.Options{Configs: []*rest.Config{config}, Patience: patienceIfBroken, Disturb: loses})
	for _, id := range []string{"object.linearizable", "object.revisions"} {
		failed := func(r conformance.Result) bool { return r.ID == id && r.Status == conformance.Failed }
		if !slices.ContainsFunc(results, failed) {
			t.Errorf("want the case %s to fail", id)
		}
	}
}
