package apps

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestRollback(t *testing.T) {
	t.Parallel()
	const revision = "deprecated.deployment.rollback.to"
	s := registrytest.New(t, registrytest.Table(t, Group), registry.Dependencies{})
	resource := appsv1.Resource("deployments")
	before := map[string]string{"kept": "a", "changed": "a", revision: "1"}
	for _, tc := range []struct {
		name, reason string
		rollback     appsv1beta1.DeploymentRollback
		dryRun       []string
		want         map[string]string
		err          string
	}{
		{
			name: "revision", reason: "apps/v1 has the revision in an annotation, and the other annotations are added",
			rollback: appsv1beta1.DeploymentRollback{
				Name: "revision", RollbackTo: appsv1beta1.RollbackConfig{Revision: 3},
				UpdatedAnnotations: map[string]string{"changed": "b", "added": "b"},
			},
			want: map[string]string{"kept": "a", "changed": "b", "added": "b", revision: "3"},
		},
		{
			name: "last", reason: "the revision 0 stands for the last one",
			rollback: appsv1beta1.DeploymentRollback{Name: "last"},
			want:     map[string]string{"kept": "a", "changed": "a", revision: "0"},
		},
		{
			name: "dry-run", reason: "a dry run changes nothing",
			rollback: appsv1beta1.DeploymentRollback{Name: "dry-run"}, dryRun: []string{metav1.DryRunAll},
			want: before,
		},
		{
			name: "invalid", reason: "all errors are reported, the one about the revision at the field of the internal type",
			rollback: appsv1beta1.DeploymentRollback{RollbackTo: appsv1beta1.RollbackConfig{Revision: -1}},
			want:     before,
			err: `DeploymentRollback.apps "" is invalid: [name: Required value, ` +
				`rollback.version: Invalid value: -1: must be greater than or equal to 0]`,
		},
		{
			name: "renamed", reason: "the object repeats the name of the path",
			rollback: appsv1beta1.DeploymentRollback{Name: "other"},
			want:     before,
			err:      "name in URL does not match name in DeploymentRollback object",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s.Put(resource, deploymentWith(func(d *appsv1.Deployment) {
				d.ObjectMeta = metav1.ObjectMeta{Name: tc.name, Namespace: "ns", Annotations: maps.Clone(before)}
			}))
			answer, err := s.Storage(resource, "deployments/rollback").(rest.NamedCreater).Create(s.Context, tc.name, &tc.rollback,
				rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: tc.dryRun})
			switch {
			case tc.err != "":
				if err == nil || err.Error() != tc.err {
					t.Errorf("%s: error %v, want %s", tc.reason, err, tc.err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				want := &metav1.Status{Status: "Success", Message: `rollback request for deployment "` + tc.name + `" succeeded`, Code: 200}
				if diff := cmp.Diff(want, answer); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			}
			d, err := s.Store(resource).Get(s.Context, tc.name, &metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, registry.MetaOf(d).GetAnnotations()); diff != "" {
				t.Errorf("%s: annotations (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
