package rootca

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	published := func(data, annotation string) *corev1.ConfigMap {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: configMap}, Data: map[string]string{dataKey: data}}
		if annotation != "" {
			m.Annotations = map[string]string{descriptionAnnotation: annotation}
		}
		return m
	}
	update := []string{"update configmaps ns/kube-root-ca.crt"}
	for _, test := range []struct {
		name, reason string
		phase        corev1.NamespacePhase
		stored       *corev1.ConfigMap
		want         []string
	}{
		{"none", "each namespace gets the certificates", corev1.NamespaceActive, nil, []string{"create configmaps ns/kube-root-ca.crt"}},
		{"as it must be", "the ConfigMap is up to date", corev1.NamespaceActive, published("ca", description), nil},
		{"another description", "a description that a user has set stays", corev1.NamespaceActive, published("ca", "mine"), nil},
		{"other certificates", "pods would not verify the server", corev1.NamespaceActive, published("old", description), update},
		{"no description", "an earlier version wrote no description", corev1.NamespaceActive, published("ca", ""), update},
		{"terminating", "the API refuses new objects in a namespace that is being deleted", corev1.NamespaceTerminating, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			if test.stored != nil {
				if err := client.Tracker().Add(test.stored); err != nil {
					t.Fatal(err)
				}
			}
			namespaces, err := controllertest.Informer(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}, Status: corev1.NamespaceStatus{Phase: test.phase}})
			if err != nil {
				t.Fatal(err)
			}
			c := &Config{Client: client.CoreV1(), Reader: client.CoreV1(), Namespaces: namespaces, RootCA: []byte("ca")}
			if again, err := c.publish(t.Context(), "ns"); err != nil || again != 0 {
				t.Errorf("%s: want no error and nothing left, got %s, %v", test.reason, again, err)
			}
			if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
			if test.phase != corev1.NamespaceActive {
				return
			}
			got, err := client.CoreV1().ConfigMaps("ns").Get(t.Context(), configMap, metav1.GetOptions{})
			if err != nil || got.Data[dataKey] != "ca" || got.Annotations[descriptionAnnotation] == "" {
				t.Errorf("%s: want the certificates with a description, got %v, %v", test.reason, got, err)
			}
		})
	}
}
