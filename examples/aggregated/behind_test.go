package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// availableWithin limits the wait for an APIService to be available.
const availableWithin = 30 * time.Second

// awaitAvailable waits until the cluster says that an APIService is available.
func awaitAvailable(t *testing.T, front *miniapitest.Server, name string) {
	t.Helper()
	services := apiServices(t, front)
	ctx, cancel := context.WithTimeout(t.Context(), availableWithin)
	defer cancel()
	var last []apiregistrationv1.APIServiceCondition
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		service, err := services.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		last = service.Status.Conditions
		return len(last) > 0 && last[0].Type == apiregistrationv1.Available && last[0].Status == apiregistrationv1.ConditionTrue, nil
	})
	if err != nil {
		t.Fatalf("APIService %s isn't available: %v: %v", name, last, err)
	}
}

func apiServices(t *testing.T, front *miniapitest.Server) clientset.Interface {
	t.Helper()
	client, err := clientset.NewForConfig(front.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Behind a cluster, the kinds are the cluster's: its users, roles and namespaces hold for them.
func TestBehind(t *testing.T) {
	t.Parallel()
	front := miniapitest.Start(t, miniapitest.WithUser("reader"))
	serve(t, "--behind="+front.KubeconfigFile(), "--register=until-exit")
	awaitAvailable(t, front, "v1beta1.wardle.example.com")
	awaitAvailable(t, front, "v1alpha1.wardle.example.com")
	checkKinds(t, front.DynamicClient())

	ctx := t.Context()
	flunders := v1beta1.WithResource("flunders")
	missing := front.DynamicClient().Resource(flunders).Namespace("missing")
	if _, err := missing.Create(ctx, object(v1beta1, "Flunder", "lost", nil), metav1.CreateOptions{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `namespaces "missing" not found`) {
		t.Errorf("a namespace that the cluster lacks: got %v", err)
	}

	reader := dynamic.NewForConfigOrDie(front.User("reader")).Resource(flunders).Namespace("default")
	if _, err := reader.List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role in the cluster: want forbidden, got %v", err)
	}
	grant(t, front, "reader")
	if _, err := dynamic.NewForConfigOrDie(front.User("reader")).Resource(v1alpha1.WithResource("catches")).List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("a user with a role in the cluster: %v", err)
	}
}

// grant lets a user of the cluster list everything of the example's group.
func grant(t *testing.T, front *miniapitest.Server, user string) {
	t.Helper()
	roles := front.Client().RbacV1()
	_, err := roles.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{v1beta1.Group}, Resources: []string{"*"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = roles.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, availableWithin, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// The server keeps its registration, and removes it at exit if asked.
func TestRegistration(t *testing.T) {
	t.Parallel()
	front := miniapitest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--secure-port=0", "--behind=" + front.KubeconfigFile(), "--register=until-exit"}, func(*server.Server) { close(ready) })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	services := apiServices(t, front).ApiregistrationV1().APIServices()
	const name = "v1beta1.wardle.example.com"
	deleted, err := services.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server registers itself again", func() bool {
		again, err := services.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && again.UID != deleted.UID
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := services.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the APIService after the exit: want not found, got %v", err)
	}
	if _, err := front.Client().CoreV1().Services("default").Get(t.Context(), "wardle-example-com", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service after the exit: want not found, got %v", err)
	}
}

// A wrong setting ends the start with one line that says what to do.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	front := miniapitest.Start(t, miniapitest.WithUser("nobody"))
	dir := t.TempDir()
	written := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	nobody, err := front.Kubeconfig(front.User("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(name string, change func(server, token *string, ca *[]byte)) string {
		config, err := clientcmd.Load(nobody)
		if err != nil {
			t.Fatal(err)
		}
		for _, cluster := range config.Clusters {
			for _, user := range config.AuthInfos {
				change(&cluster.Server, &user.Token, &cluster.CertificateAuthorityData)
				if user.Token != "" {
					user.ClientCertificateData, user.ClientKeyData = nil, nil
				}
			}
		}
		content, err := clientcmd.Write(*config)
		if err != nil {
			t.Fatal(err)
		}
		return written(name, content)
	}
	other := miniapitest.Start(t)
	_, err = front.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "another"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "another.example.com"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = apiServices(t, front).ApiregistrationV1().APIServices().Create(t.Context(), &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1alpha1.wardle.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: v1alpha1.Group, Version: v1alpha1.Version, GroupPriorityMinimum: 1000, VersionPriority: 9, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "another"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason string
		args         []string
		want         string
	}{
		{"no file", "the error names the flag and the file", []string{"--behind=" + filepath.Join(dir, "missing")}, "must be a kubeconfig with the cluster and a user"},
		{"no kubeconfig", "the file is something else", []string{"--behind=" + written("text", []byte("text"))}, "must be a kubeconfig with the cluster and a user"},
		{"not in a cluster", "there is no service account", []string{"--behind=in-cluster"}, "--behind in-cluster: the process doesn't run in a pod with a service account"},
		{"no cluster", "a flag of the mode has no effect without the mode", []string{"--authentication-kubeconfig=" + front.KubeconfigFile()}, "must be given together with --behind"},
		{"registration alone", "there is no cluster to register in", []string{"--register"}, "--register: must be given together with --behind"},
		{"away", "nothing listens there", []string{"--behind=" + changed("away", func(server, _ *string, _ *[]byte) { *server = "https://127.0.0.1:1" })}, "https://127.0.0.1:1 must answer, and doesn't: start the cluster"},
		{"wrong authority", "the kubeconfig is of another cluster", []string{"--behind=" + changed("ca", func(_, _ *string, ca *[]byte) { *ca = other.Config().CAData })}, "the certificate-authority-data of the kubeconfig isn't that of"},
		{"wrong token", "the token is of no user", []string{"--behind=" + changed("token", func(_, token *string, _ *[]byte) { *token = "wrong" })}, "doesn't accept the user of the kubeconfig"},
		{"missing role", "the user has no role", []string{"--behind=" + written("nobody", nobody)}, "bind the role kube-system/extension-apiserver-authentication-reader"},
		{"missing delegation", "the user may not review tokens", []string{"--authentication-skip-lookup", "--behind=" + written("nobody", nobody)}, "may not create tokenreviews.authentication.k8s.io (the cluster role system:auth-delegator)"},
		{"taken", "the group is another server's", []string{"--register", "--behind=" + front.KubeconfigFile()}, "the APIService v1alpha1.wardle.example.com leads to the service default/another: delete the APIService"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), availableWithin)
			defer stop()
			err := run(ctx, append([]string{"--secure-port=0"}, test.args...), func(*server.Server) { stop() })
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: want one line with %q, got %v", test.reason, test.want, err)
			}
		})
	}
}
