package miniapitest_test

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Configuration of a test has no effect on the first request after Reset.
func TestResetEffects(t *testing.T) {
	t.Parallel()
	const rounds = 4
	create := metav1.CreateOptions{}
	srv := miniapitest.Start(t)
	admin := srv.Client()
	alice, err := kubernetes.NewForConfig(srv.AddUser("alice"))
	if err != nil {
		t.Fatal(err)
	}
	newMap := func(ctx context.Context, client kubernetes.Interface, namespace string) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("m"), create)
		return err
	}
	tests := []struct {
		name, reason string
		configure    func(context.Context) error
		request      func(context.Context) error
		// before and after check the error of the request.
		before, after func(error) bool
	}{{
		name: "role binding", reason: "the authorizer reads its cache",
		configure: func(ctx context.Context) error {
			_, err := admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "alice"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "alice"}},
			}, create)
			return err
		},
		request: func(ctx context.Context) error { return newMap(ctx, alice, "default") },
		before:  isNil, after: apierrors.IsForbidden,
	}, {
		name: "namespace", reason: "admission reads its cache",
		configure: func(ctx context.Context) error {
			_, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, create)
			return err
		},
		request: func(ctx context.Context) error { return newMap(ctx, admin, "new") },
		before:  isNil, after: apierrors.IsNotFound,
	}, {
		name: "namespace that was deleted", reason: "admission remembers deletions for a while",
		configure: func(ctx context.Context) error {
			return admin.CoreV1().Namespaces().Delete(ctx, "kube-node-lease", metav1.DeleteOptions{})
		},
		request: func(ctx context.Context) error { return newMap(ctx, admin, "kube-node-lease") },
		before:  func(err error) bool { return err != nil }, after: isNil,
	}, {
		name: "quota", reason: "the plugin remembers what it has counted",
		configure: func(ctx context.Context) error {
			_, err := admin.CoreV1().ResourceQuotas("default").Create(ctx, &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "none"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}},
				Status:     corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}},
			}, create)
			return err
		},
		request: func(ctx context.Context) error { return newMap(ctx, admin, "default") },
		before:  func(error) bool { return true }, after: isNil, // without a controller, a quota takes effect later
	}, {
		name: "policy", reason: "policies are compiled into a cache",
		configure: func(ctx context.Context) error {
			policies := admin.AdmissionregistrationV1()
			if _, err := policies.ValidatingAdmissionPolicies().Create(ctx, refusingPolicy(), create); err != nil {
				return err
			}
			_, err := policies.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "refuse"},
				Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: "refuse", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
				},
			}, create)
			return err
		},
		request: func(ctx context.Context) error { return newMap(ctx, admin, "default") },
		before:  func(err error) bool { return err != nil }, after: isNil,
	}, {
		name: "service", reason: "its address and port are reserved in places of their own",
		configure: func(ctx context.Context) error {
			_, err := admin.CoreV1().Services("default").Create(ctx, nodePort("one"), create)
			return err
		},
		request: func(ctx context.Context) error {
			_, err := admin.CoreV1().Services("default").Create(ctx, nodePort("two"), create)
			return err
		},
		before: apierrors.IsInvalid, after: isNil,
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for round := range rounds {
				if err := test.configure(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := test.request(t.Context()); !test.before(err) {
					t.Errorf("round %d, before Reset: %v", round, err)
				}
				if err := srv.Reset(); err != nil {
					t.Fatal(err)
				}
				if err := test.request(t.Context()); !test.after(err) {
					t.Errorf("round %d, after Reset, though %s: %v", round, test.reason, err)
				}
				if err := srv.Reset(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func isNil(err error) bool { return err == nil }

func refusingPolicy() *admissionregistrationv1.ValidatingAdmissionPolicy {
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "refuse"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no"}},
		},
	}
}

func nodePort(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ClusterIP: "10.0.0.77",
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}},
		},
	}
}
