package connect

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// kubeletsOf returns the Kubelets of a cluster with one node. The kubelet of the node answers with the handler.
func kubeletsOf(t *testing.T, h http.HandlerFunc) Kubelets {
	t.Helper()
	transport, nodes := registrytest.KubeletOf(t, h)
	return Kubelets{Kubelet: Kubelet{Transport: transport, AddressTypes: []string{"InternalIP", "Hostname"}}, Nodes: nodes}
}

func TestKubeletAddress(t *testing.T) {
	t.Parallel()
	addresses := []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "1.2.3.4"}, {Type: corev1.NodeInternalIP, Address: "::1"}}
	for _, test := range []struct {
		name, reason string
		node         corev1.Node
		want         string
	}{
		{"preferred", "the order of the types determines the address, and not the order of the addresses",
			corev1.Node{Status: corev1.NodeStatus{Addresses: addresses}}, "https://[::1]:10250"},
		{"label", "a node without an address of type Hostname may have the label", corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelHostname: "h"}},
			Status:     corev1.NodeStatus{Addresses: addresses},
		}, "https://h:10250"},
		{"none", "the error shows the addresses of the node", corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: "Other", Address: "x"}}}},
			"no preferred addresses found; known addresses: [{Other x}]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := Kubelets{Kubelet: Kubelet{AddressTypes: []string{"Hostname", "InternalIP", "ExternalIP"}}, Nodes: registrytest.Known{"n": &test.node}}
			location, err := k.Of(t.Context(), "n")
			got := fmt.Sprint(location)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
}
