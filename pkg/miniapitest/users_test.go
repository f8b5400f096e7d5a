package miniapitest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Users have their names and groups, and the permissions that RBAC gives them.
func TestUsers(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t,
		miniapitest.WithUser("alice", "readers"),
		miniapitest.WithObjects(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "readers"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
		}),
	)
	list := func(config *rest.Config) error {
		t.Helper()
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		return err
	}
	context := func(name string) *rest.Config {
		t.Helper()
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: srv.KubeconfigFile()}, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	if err := list(srv.AddUser("bob", "readers")); err != nil {
		t.Error(err)
	}
	if err := list(srv.AddUser("mallory")); !apierrors.IsForbidden(err) {
		t.Errorf("want mallory to be forbidden, got %v", err)
	}
	kubeconfig, err := srv.Kubeconfig(srv.User("bob"))
	if err != nil {
		t.Fatal(err)
	}
	bob, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := list(bob); err != nil {
		t.Error(err)
	}
	bob.Impersonate.UserName = "mallory"
	if err := list(bob); !apierrors.IsForbidden(err) {
		t.Errorf("want bob not to be an admin, got %v", err)
	}
	for _, config := range []*rest.Config{srv.User("alice"), srv.User("bob"), context("alice"), context("")} {
		if err := list(config); err != nil {
			t.Error(err)
		}
	}
	if err := list(srv.User("nobody")); err == nil || !strings.Contains(err.Error(), `there is no user "nobody"`) {
		t.Errorf("want it said that there is no such user, got %v", err)
	}
}

// A user may have the name of the admin's context.
func TestUserNames(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithUser("miniapi"), miniapitest.WithUser("miniapi-admin"))
	for context, want := range map[string]string{"": "system:admin", "miniapi": "miniapi", "miniapi-admin": "miniapi-admin"} {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: srv.KubeconfigFile()}, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		if got := whoAmI(t, config).Username; got != want {
			t.Errorf("want the context %q to be of %s, got %s", context, want, got)
		}
	}
}

// A user that is added again has the new groups.
func TestUserAgain(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithUser("alice", "readers"))
	srv.AddUser("alice", "writers")
	if diff := cmp.Diff([]string{"writers", "system:authenticated"}, whoAmI(t, srv.User("alice")).Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func whoAmI(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}

// Functions of an invalid user return its error.
func TestNoUser(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, test := range []struct {
		name, reason string
		config       *rest.Config
		want         string
	}{
		{"unknown", "its name may be misspelt", srv.User("nobody"), `there is no user "nobody"`},
		{"no name", "a certificate without one is nobody's", srv.AddUser(""), "a user needs a name"},
		{"nil", "it would be the kubeconfig of no server", nil, "the client configuration is nil"},
	} {
		if _, err := srv.Kubeconfig(test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s: want no kubeconfig and %q, got %v", test.name, test.reason, test.want, err)
		}
		if test.config == nil {
			continue
		}
		client, err := kubernetes.NewForConfig(test.config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s: want no answer and %q, got %v", test.name, test.reason, test.want, err)
		}
	}
}
