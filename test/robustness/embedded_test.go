package robustness_test

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// A server with a data folder keeps its promises while it is killed, stopped and paused, while its disk is slow, and
// while its clients lose their connections.
func TestEmbedded(t *testing.T) {
	needProgram(t)
	p, l, config := server(t, "server", false, "--data-dir="+filepath.Join(t.TempDir(), "data"))
	survive(t, 0.4, []*rest.Config{config}, ends("server", p), faults("client to server", l))
}
