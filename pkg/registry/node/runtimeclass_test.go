package node

import (
	"testing"

	nodev1 "k8s.io/api/node/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestRuntimeClassWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "old node label", Reason: "the path does not contain the label",
			Object: &nodev1.RuntimeClass{Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}},
			Want:   []string{`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
	})
}
