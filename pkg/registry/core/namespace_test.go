package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestNamespaceErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "phase", Reason: "only a deleted namespace can have the phase Terminating",
			Object: &corev1.Namespace{ObjectMeta: registrytest.ClusterStored("n"),
				Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}},
			Old:    &corev1.Namespace{ObjectMeta: registrytest.ClusterStored("n")},
			Status: true,
			Want:   []string{"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"},
		},
	})
}
