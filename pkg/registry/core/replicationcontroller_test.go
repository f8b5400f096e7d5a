package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestReplicationController(t *testing.T) {
	t.Parallel()
	rc := &corev1.ReplicationController{ObjectMeta: registrytest.Stored("r")}
	defaultReplicationController(rc)
	registrytest.WantErrors(t, "nothing is derived without a template", validateReplicationController(rc),
		"spec.selector: Required value", "spec.template: Required value")
}

func TestReplicationControllerWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "no template", Reason: "a replication controller has a pointer to its template, which can be nil",
			Object: &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Generation: 1}},
			Want: []string{
				"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; " +
					"a DNS label is recommended: [must not contain dots]"},
		},
	})
}

func TestReplicationControllerDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "no labels and selector",
			Reason:   "labels and selector default to the labels of the template",
			Manifest: `{apiVersion: v1, kind: ReplicationController, spec: {template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}`,
			Path:     "spec.selector",
			Want:     `{a: b}`,
		},
	})
}
