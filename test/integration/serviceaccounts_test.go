package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// rootCA waits for the ConfigMap with the certificates in a namespace, and returns it.
func rootCA(t *testing.T, client kubernetes.Interface, namespace string) *corev1.ConfigMap {
	t.Helper()
	var published *corev1.ConfigMap
	eventually(t, func(ctx context.Context) (err error) {
		published, err = client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	return published
}

// Each namespace has the service account "default", and a ConfigMap with the server's certificates. A pod can use the
// account and the ConfigMap as soon as the server is ready, or as soon as its namespace is created. If a client
// deletes or changes the account or the ConfigMap, the controller restores it.
func TestEveryNamespaceHasAccountAndCertificates(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("*"))
	client := srv.Client()
	must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{}))(t)
	for _, namespace := range []string{"default", "new"} {
		var pod *corev1.Pod
		eventually(t, func(ctx context.Context) (err error) {
			pod, err = client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
			}, metav1.CreateOptions{})
			return err
		})
		if pod.Spec.ServiceAccountName != "default" || len(pod.Spec.Volumes) != 1 {
			t.Errorf("%s: want a pod of account default with its token, got %q with %v", namespace, pod.Spec.ServiceAccountName, pod.Spec.Volumes)
		}
		published := rootCA(t, client, namespace)
		config := rest.AnonymousClientConfig(srv.Config())
		config.CAData = []byte(published.Data["ca.crt"])
		if _, err := kubernetes.NewForConfigOrDie(config).Discovery().ServerVersion(); err != nil {
			t.Errorf("%s: the certificates don't verify the server: %v", namespace, err)
		}
	}

	account := must(client.CoreV1().ServiceAccounts("new").Get(t.Context(), "default", metav1.GetOptions{}))(t)
	ok(t, client.CoreV1().ServiceAccounts("new").Delete(t.Context(), "default", metav1.DeleteOptions{}))
	eventually(t, func(ctx context.Context) error {
		again, err := client.CoreV1().ServiceAccounts("new").Get(ctx, "default", metav1.GetOptions{})
		if err == nil && again.UID == account.UID {
			err = fmt.Errorf("want a new ServiceAccount new/default, got the deleted one with the UID %s", again.UID)
		}
		return err
	})
	want := rootCA(t, client, "new").Data["ca.crt"]
	for name, change := range map[string]func() error{
		"changed": func() error {
			_, err := client.CoreV1().ConfigMaps("new").Patch(t.Context(), "kube-root-ca.crt", types.MergePatchType, []byte(`{"data":{"ca.crt":"other","more":"data"}}`), metav1.PatchOptions{})
			return err
		},
		"deleted": func() error {
			return client.CoreV1().ConfigMaps("new").Delete(t.Context(), "kube-root-ca.crt", metav1.DeleteOptions{})
		},
	} {
		ok(t, change())
		eventually(t, func(ctx context.Context) error {
			published, err := client.CoreV1().ConfigMaps("new").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			if err == nil && (published.Data["ca.crt"] != want || len(published.Data) != 1) {
				err = fmt.Errorf("ConfigMap kube-root-ca.crt after it was %s: want only the certificates, got %v", name, published.Data)
			}
			return err
		})
	}
}

// A Secret of type kubernetes.io/service-account-token gets a token of its account. The token is valid as long as the
// Secret and the account exist. A use of the token labels the Secret with the date.
func TestTokenSecrets(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("serviceaccount-token", "root-ca-cert-publisher"))
	client := srv.Client()
	accounts, secrets := client.CoreV1().ServiceAccounts("default"), client.CoreV1().Secrets("default")
	fill := func(name, account string) *corev1.Secret {
		t.Helper()
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}},
			Type:       corev1.SecretTypeServiceAccountToken,
		}
		must(secrets.Create(t.Context(), secret, metav1.CreateOptions{}))(t)
		eventually(t, func(ctx context.Context) (err error) {
			if secret, err = secrets.Get(ctx, name, metav1.GetOptions{}); err == nil && len(secret.Data["token"]) == 0 {
				err = fmt.Errorf("want a token in Secret %s, got the data %v", name, secret.Data)
			}
			return err
		})
		return secret
	}
	user := func(secret *corev1.Secret) string {
		t.Helper()
		config := rest.AnonymousClientConfig(srv.Config())
		config.BearerToken = string(secret.Data["token"])
		config.CAData = secret.Data["ca.crt"]
		review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return err.Error()
		}
		return review.Status.UserInfo.Username
	}
	account := must(accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}))(t)
	secret := fill("token", "robot")
	if got := secret.Annotations[corev1.ServiceAccountUIDKey]; got != string(account.UID) || string(secret.Data["namespace"]) != "default" {
		t.Errorf("want the account's UID %s and the namespace, got %q, %q", account.UID, got, secret.Data["namespace"])
	}
	if got, want := user(secret), "system:serviceaccount:default:robot"; got != want {
		t.Errorf("want user %s, got %s", want, got)
	}
	used := must(secrets.Get(t.Context(), "token", metav1.GetOptions{}))(t)
	if _, err := time.Parse(time.DateOnly, used.Labels["kubernetes.io/legacy-token-last-used"]); err != nil {
		t.Errorf("want the Secret's label with the date of the last use of its token: %v", err)
	}

	account.Secrets = []corev1.ObjectReference{{Name: "token"}, {Name: "other"}}
	must(accounts.Update(t.Context(), account, metav1.UpdateOptions{}))(t)
	ok(t, secrets.Delete(t.Context(), "token", metav1.DeleteOptions{}))
	eventually(t, func(ctx context.Context) error { // the account's list of Secrets loses the deleted one
		got, err := accounts.Get(ctx, "robot", metav1.GetOptions{})
		if err == nil && (len(got.Secrets) != 1 || got.Secrets[0].Name != "other") {
			err = fmt.Errorf("want only the other Secret in the account's secrets, got %v", got.Secrets)
		}
		return err
	})

	fill("second", "robot")
	ok(t, accounts.Delete(t.Context(), "robot", metav1.DeleteOptions{}))
	gone(t, "the token of a deleted account", func(ctx context.Context) (any, error) { return secrets.Get(ctx, "second", metav1.GetOptions{}) })
	orphan := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "orphan", Annotations: map[string]string{corev1.ServiceAccountNameKey: "nobody"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	if _, err := secrets.Create(t.Context(), orphan, metav1.CreateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	gone(t, "the token of no account", func(ctx context.Context) (any, error) { return secrets.Get(ctx, "orphan", metav1.GetOptions{}) })
}
