package podtolerationrestriction

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n" +
		"default: [{key: a, operator: Exists}]\nwhitelist: [{key: a, operator: Exists}, {key: b, operator: Exists}, {key: node.kubernetes.io/memory-pressure, operator: Exists}]\n"
	exists := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
	}
	pressure := corev1.Toleration{Key: "node.kubernetes.io/memory-pressure", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	asks := []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
	const refused = "pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist"
	tests := []struct {
		name, reason, namespace, refusal string
		containers                       []corev1.Container
		given, want                      []corev1.Toleration
	}{
		{name: "default", reason: "the configuration has default tolerations", namespace: "plain",
			given: []corev1.Toleration{exists("b")}, want: []corev1.Toleration{exists("b"), exists("a")}},
		{name: "annotation", reason: "the annotation of the namespace has default tolerations", namespace: "own",
			want: []corev1.Toleration{exists("c")}},
		{name: "empty annotation", reason: "an empty annotation allows no tolerations", namespace: "empty",
			given: []corev1.Toleration{exists("x")}, want: []corev1.Toleration{exists("x")}},
		{name: "not allowed", reason: "the configuration doesn't list the toleration", namespace: "plain",
			given: []corev1.Toleration{exists("x")}, refusal: refused},
		{name: "everything", reason: "the toleration covers more than the list", namespace: "plain",
			given: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, refusal: refused},
		{name: "not allowed by the namespace", reason: "the annotation doesn't list the toleration", namespace: "own",
			given: []corev1.Toleration{exists("x")}, refusal: "conflict with its namespace whitelist"},
		{name: "guaranteed", reason: "a pod with requests stays on a node without memory", namespace: "plain",
			containers: asks, want: []corev1.Toleration{exists("a"), pressure}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := New(strings.NewReader(config))
			if err != nil {
				t.Fatal(err)
			}
			namespace := func(name string, annotations map[string]string) *corev1.Namespace {
				return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
			}
			plugintest.Start(t, p, nil,
				namespace("plain", nil),
				namespace("own", map[string]string{defaultsAnnotation: `[{"key": "c", "operator": "Exists"}]`, allowedAnnotation: `[{"key": "c", "operator": "Exists"}]`}),
				namespace("empty", map[string]string{defaultsAnnotation: "", allowedAnnotation: ""}))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "p"}, Spec: corev1.PodSpec{Containers: test.containers, Tolerations: test.given}}
			plugintest.Run(t, p, plugintest.Create(pod), test.refusal)
			if diff := cmp.Diff(test.want, pod.Spec.Tolerations); test.refusal == "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"kind: Configuration\n", "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\ndefaults: []\n"} {
		if _, err := New(strings.NewReader(content)); err == nil {
			t.Errorf("a configuration of another kind, or with unknown fields, is refused: %q", content)
		}
	}
}
