package integration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The versions of deployments that have DeploymentRollback serve deployments/rollback, and no other version does. A
// webhook reviews the DeploymentRollback. An object selector doesn't match a DeploymentRollback, because the object can't
// have labels (KEP-492).
func TestRollback(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	client := must(kubernetes.NewForConfig(srv.Config()))(t).CoreV1().RESTClient()
	for _, test := range []struct {
		version, name string
		served        bool
	}{
		{"extensions/v1beta1", "extensions-v1beta1", true},
		{"apps/v1beta1", "apps-v1beta1", true},
		{"apps/v1beta2", "apps-v1beta2", false},
		{"apps/v1", "apps-v1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			must(resources(srv, test.version, "deployments").Create(t.Context(), deployment(test.version, test.name), metav1.CreateOptions{}))(t)
			post := func() (*metav1.Status, error) {
				answer := &metav1.Status{}
				return answer, client.Post().AbsPath("/apis", test.version, "namespaces/default/deployments", test.name, "rollback").
					Body([]byte(`{"name":"` + test.name + `","rollbackTo":{"revision":3}}`)).Do(t.Context()).Into(answer)
			}
			if !test.served {
				if _, err := post(); !apierrors.IsNotFound(err) {
					t.Errorf("error %v, want that there is no such resource", err)
				}
				return
			}
			rules := []change{on("CREATE", test.version, "deployments/rollback"), matchPolicy(exact)}
			unlabeled := func(h *hook) {
				h.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpDoesNotExist}}}
			}
			recorder := install(t, srv,
				mutating("change", patch(miniapitest.Replace("/rollbackTo/revision", 4)), rules...),
				validating("selecting", always(miniapitest.Denied("selected")), append(rules, unlabeled)...))
			answer := must(post())(t)
			if want := `rollback request for deployment "` + test.name + `" succeeded`; answer.Message != want {
				t.Errorf("answer %q, want %q", answer.Message, want)
			}
			resource := test.version + " deployments/rollback"
			kind := test.version + " DeploymentRollback"
			want := asked{Operation: "CREATE", Resource: resource, Kind: kind, RequestResource: resource, RequestKind: kind, Object: kind}
			if diff := cmp.Diff(want, askedOf(t, only(t, recorder))); diff != "" {
				t.Errorf("review (-want +got):\n%s", diff)
			}
			stored := must(resources(srv, "apps/v1", "deployments").Get(t.Context(), test.name, metav1.GetOptions{}))(t)
			if got := stored.GetAnnotations()["deprecated.deployment.rollback.to"]; got != "4" {
				t.Errorf("the stored Deployment asks for revision %q, want 4, as the webhook wants", got)
			}
		})
	}
}
