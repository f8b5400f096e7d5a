package defaultserviceaccount

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
)

func TestEnsure(t *testing.T) {
	t.Parallel()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}}
	for _, test := range []struct {
		name, reason  string
		phase         corev1.NamespacePhase
		known, stored []*corev1.ServiceAccount
		want          []string
	}{
		{"none", "each namespace gets a service account", corev1.NamespaceActive, nil, nil, []string{"create serviceaccounts ns/default"}},
		{"there", "the service account exists already", corev1.NamespaceActive, []*corev1.ServiceAccount{account},
			[]*corev1.ServiceAccount{account}, nil},
		{"not seen", "the informer may lag behind the server, so a create of an existing account is no error",
			corev1.NamespaceActive, nil, []*corev1.ServiceAccount{account},
			[]string{"create serviceaccounts ns/default"}},
		{"terminating", "the API refuses new objects in a namespace that is being deleted", corev1.NamespaceTerminating, nil, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			for _, o := range test.stored {
				if err := client.Tracker().Add(o); err != nil {
					t.Fatal(err)
				}
			}
			namespaces, err := controllertest.Informer(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}, Status: corev1.NamespaceStatus{Phase: test.phase}})
			if err != nil {
				t.Fatal(err)
			}
			accounts, err := controllertest.Informer(test.known...)
			if err != nil {
				t.Fatal(err)
			}
			c := &Config{Client: client.CoreV1(), Namespaces: namespaces, Accounts: accounts}
			if again, err := c.ensure(t.Context(), "ns"); err != nil || again != 0 {
				t.Errorf("%s: want no error and nothing left, got %s, %v", test.reason, again, err)
			}
			if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
