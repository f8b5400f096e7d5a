package pod

import (
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"

	"net/http"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// kubeletsOf returns the kubelets of a cluster with one node, for which the handler answers.
func kubeletsOf(t *testing.T, h http.HandlerFunc) connect.Kubelets {
	t.Helper()
	transport, nodes := registrytest.KubeletOf(t, h)
	return connect.Kubelets{Kubelet: connect.Kubelet{Transport: transport, AddressTypes: []string{"InternalIP", "Hostname"}}, Nodes: nodes}
}
