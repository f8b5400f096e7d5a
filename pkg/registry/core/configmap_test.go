package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConfigMapErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "keys", Reason: "a key is a file name, and occurs in one of the two maps",
			Object: &corev1.ConfigMap{ObjectMeta: registrytest.Stored("c"),
				Data: map[string]string{"a": "", "..": ""}, BinaryData: map[string][]byte{"a": nil}},
			Want: []string{
				`data[..]: Invalid value: "..": must not be '..'`,
				`data[a]: Invalid value: "a": duplicate of key present in binaryData`,
			},
		},
		{
			Name: "immutable", Reason: "an immutable config map keeps its data and stays immutable",
			Object: &corev1.ConfigMap{ObjectMeta: registrytest.Stored("c"), Data: map[string]string{"a": "b"}},
			Old:    &corev1.ConfigMap{ObjectMeta: registrytest.Stored("c"), Immutable: ptr.To(true)},
			Want: []string{
				"immutable: Forbidden: field is immutable when `immutable` is set",
				"data: Forbidden: field is immutable when `immutable` is set",
			},
		},
		{
			Name: "finalizer", Reason: "a finalizer that is not standard has a domain",
			Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "default",
				Finalizers: []string{"mine", "orphan", "example.com/mine"}}},
			Want: []string{`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`},
		},
	})
}

func TestConfigMapFieldLabels(t *testing.T) {
	t.Parallel()
	registrytest.CheckFieldLabels(t, registrytest.Table(t, Group), []registrytest.FieldLabelCase{{
		Name: "no fields", Reason: "the error of a kind without selectable fields comes from k8s.io/apimachinery",
		Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Label: "data",
		Err: `"data" is not a known field selector: only "metadata.name", "metadata.namespace"`,
	}})
}
