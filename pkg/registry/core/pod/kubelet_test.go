package pod

import (
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"

	"net/http"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// kubeletsOf are the connect.Kubelets of a cluster whose one node is what a handler stands for.
func kubeletsOf(t *testing.T, h http.HandlerFunc) connect.Kubelets {
	t.Helper()
	kubelet, nodes := registrytest.KubeletOf(t, h)
	return connect.Kubelets{Kubelet: kubelet, Nodes: nodes}
}
