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

func TestReplicationControllerErrors(t *testing.T) {
	t.Parallel()
	controller := func(app string, annotations map[string]string) *corev1.ReplicationController {
		rc := &corev1.ReplicationController{ObjectMeta: registrytest.Stored("r"), Spec: corev1.ReplicationControllerSpec{
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
				Spec: registrytest.ValidPodSpec()},
		}}
		defaultReplicationController(rc)
		rc.Annotations = annotations
		return rc
	}
	selector := map[string]string{"non-convertible.kubernetes.io/selector": "a in (b)"}
	unnamed := controller("a", nil)
	unnamed.Name, unnamed.Spec.MinReadySeconds = "A", -1
	stored := controller("a", nil)
	stored.Name = "A"
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "update", Reason: "an update checks the spec once, and doesn't check the stored name",
			Object: unnamed,
			Old:    stored,
			Want:   []string{"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"},
		},
		{
			Name: "create", Reason: "the declared rules come last, and each error once",
			Object: unnamed,
			Want: []string{
				`metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start ` +
					`and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
				"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
			},
		},
		{
			Name: "non-convertible selector", Reason: "core v1 can't hold the stored selector, so an update can't change the selector",
			Object: controller("b", selector),
			Old:    controller("a", selector),
			Want:   []string{`spec.selector: Invalid value: {"app":"b"}: cannot update non-convertible selector`},
		},
		{
			Name: "same non-convertible selector", Reason: "an update can keep the selector",
			Object: controller("a", selector),
			Old:    controller("a", selector),
		},
		{
			Name: "another non-convertible field", Reason: "only the selector can be non-convertible",
			Object: controller("a", nil),
			Old:    controller("a", map[string]string{"non-convertible.kubernetes.io/x": "y"}),
			Want:   []string{`x: Not found: "y": unknown non-convertible field`},
		},
	})
}

func withSecret(name string, generation int64) *corev1.ReplicationController {
	return &corev1.ReplicationController{ObjectMeta: registrytest.Generation(generation), Spec: corev1.ReplicationControllerSpec{
		Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: name}}}},
	}}
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
		{
			Name: "another template", Reason: "kube-apiserver looks at the stored template",
			Object: withSecret("", 2), Old: withSecret("s", 1),
		},
		{
			Name: "stored template", Reason: "kube-apiserver looks at the stored template",
			Object: withSecret("s", 2), Old: withSecret("", 1),
			Want: []string{`spec.template.spec.imagePullSecrets[0].name: invalid empty name ""`},
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
