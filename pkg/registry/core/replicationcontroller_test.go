package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestReplicationController(t *testing.T) {
	t.Parallel()
	rc := &corev1.ReplicationController{ObjectMeta: registrytest.Stored("r")}
	defaultReplicationController(rc)
	registrytest.WantErrors(t, "nothing is derived without a template", validateReplicationController(rc),
		"spec.selector: Required value", "spec.template: Required value")
}
