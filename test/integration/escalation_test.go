package integration_test

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Without the authorization mode RBAC, a user can't grant permissions either: only the verbs bind and escalate allow
// that. A later start with the mode would use the roles.
func TestNoEscalationWithoutRBAC(t *testing.T) {
	t.Parallel()
	file := write(t, "authorization.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:"+
		authorizing(t, "almost.example.com", func(asked authorizationv1.SubjectAccessReviewSpec) bool {
			verb := ""
			if asked.ResourceAttributes != nil {
				verb = asked.ResourceAttributes.Verb
			}
			return asked.User == "bob" || verb != "bind" && verb != "escalate"
		}))
	srv := miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) { o.Authorization.ConfigFile = file }))
	role := &rbacv1.ClusterRole{ObjectMeta: named("reader"), Rules: []rbacv1.PolicyRule{rbacRule("", "get", "secrets")}}
	for _, test := range []struct {
		name, reason, user string
		allowed            bool
	}{
		{"without escalate", "the webhook refuses the verb escalate, and the user has no roles", "ann", false},
		{"escalate", "the webhook allows the verb escalate", "bob", true},
	} {
		_, err := clientOf(t, srv, test.user).RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{DryRun: dry})
		if allowed := err == nil; allowed != test.allowed || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %s: the creation of a role is allowed: %t (%v), want %t", test.name, test.reason, allowed, err, test.allowed)
		}
	}
}
