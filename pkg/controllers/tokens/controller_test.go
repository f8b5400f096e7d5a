package tokens

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

var account = &corev1.ServiceAccount{
	ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "robot", UID: "robot"},
	Secrets:    []corev1.ObjectReference{{Name: "gone"}, {Name: "other"}},
}

// secretOf returns a Secret. Its UID is the same as its name.
func secretOf(name, account, uid string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{
			corev1.ServiceAccountNameKey: account, corev1.ServiceAccountUIDKey: uid,
		}},
		Type: corev1.SecretTypeServiceAccountToken, Data: data,
	}
}

func newController(t *testing.T, client *fake.Clientset) *Controller {
	t.Helper()
	runner := work.NewRunner(t.Context())
	t.Cleanup(runner.Close)
	return New(Config{Runner: runner, Client: client.CoreV1(), RootCA: []byte("ca"), Token: func(a *corev1.ServiceAccount, s *corev1.Secret) (string, error) {
		return a.Name + " in " + s.Name, nil
	}})
}

func TestFill(t *testing.T) {
	t.Parallel()
	whole := map[string][]byte{"ca.crt": []byte("ca"), "namespace": []byte("ns"), "token": []byte("robot in s")}
	with := func(change func(map[string][]byte)) map[string][]byte {
		data := map[string][]byte{}
		for name, value := range whole {
			data[name] = value
		}
		change(data)
		return data
	}
	other := secretOf("s", "robot", "", nil)
	other.Type = corev1.SecretTypeOpaque
	for _, test := range []struct {
		name, reason string
		secret       *corev1.Secret
		uid          types.UID
		writes       []string
		want         map[string][]byte
	}{
		{"empty", "the Secret gets the token, the certificates and the namespace", secretOf("s", "robot", "", nil), "s",
			[]string{"update secrets ns/s"}, whole},
		{"filled", "a Secret with all data stays unchanged", secretOf("s", "robot", "robot", whole), "s", nil, whole},
		{"other certificates", "clients would not verify the server",
			secretOf("s", "robot", "robot", with(func(d map[string][]byte) { d["ca.crt"] = []byte("old") })), "s",
			[]string{"update secrets ns/s"}, whole},
		{"a token of its own", "a token that a user has set stays",
			secretOf("s", "robot", "robot", with(func(d map[string][]byte) { d["token"] = []byte("mine") })), "s", nil,
			with(func(d map[string][]byte) { d["token"] = []byte("mine") })},
		{"another type", "the Secret is for something else", other, "s", nil, nil},
		{"no account", "the service account doesn't exist", secretOf("s", "nobody", "", nil), "s", []string{"delete secrets ns/s"}, nil},
		{"an account of that name", "a new service account has the same name and another UID",
			secretOf("s", "robot", "former", whole), "s", []string{"delete secrets ns/s"}, nil},
		{"replaced", "the event is from a deleted Secret of the same name", secretOf("s", "robot", "", nil), "former", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(account.DeepCopy(), test.secret)
			if _, err := newController(t, client).fill(t.Context(), key{"ns", "s", test.uid}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.writes, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
			if len(test.want) == 0 {
				return
			}
			got, err := client.CoreV1().Secrets("ns").Get(t.Context(), "s", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Data); diff != "" || got.Annotations[corev1.ServiceAccountUIDKey] != "robot" {
				t.Errorf("%s: the Secret of account %s differs (-want +got):\n%s", test.reason, got.Annotations, diff)
			}
		})
	}
}

// When a service account is deleted, its tokens are deleted. The tokens of a new account with the same name stay.
func TestDeleteTokens(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(secretOf("a", "robot", "robot", nil), secretOf("b", "robot", "", nil), secretOf("c", "robot", "another", nil), secretOf("d", "other", "", nil))
	if _, err := newController(t, client).deleteTokens(t.Context(), key{"ns", "robot", "robot"}); err != nil {
		t.Fatal(err)
	}
	got := controllertest.Writes(client.Actions())
	slices.Sort(got)
	if diff := cmp.Diff([]string{"delete secrets ns/a", "delete secrets ns/b"}, got); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}
}

// When a Secret is deleted, it is removed from the secrets of its service account.
func TestUnreference(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(account.DeepCopy())
	c := newController(t, client)
	c.filled["gone"] = key{"ns", "robot", "robot"}
	for range 2 { // the second call finds nothing to do
		if _, err := c.fill(t.Context(), key{"ns", "gone", "gone"}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"update serviceaccounts ns/robot"}, controllertest.Writes(client.Actions())); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}
	got, err := client.CoreV1().ServiceAccounts("ns").Get(t.Context(), "robot", metav1.GetOptions{})
	if err != nil || len(got.Secrets) != 1 || got.Secrets[0].Name != "other" {
		t.Errorf("want the other Secret to be named, got %v, %v", got, err)
	}
}
