package pod

import (
	"net/http"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// kubeletsOf returns the Kubelets of a cluster with one node. The kubelet of the node answers with the handler.
func kubeletsOf(t *testing.T, h http.HandlerFunc) connect.Kubelets {
	t.Helper()
	transport, nodes := registrytest.KubeletOf(t, h)
	return connect.Kubelets{Kubelet: connect.Kubelet{Transport: transport, AddressTypes: []string{"InternalIP", "Hostname"}}, Nodes: nodes}
}
