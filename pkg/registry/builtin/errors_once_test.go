package builtin_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// TestErrorsAreReportedOnce checks that an update with invalid metadata has each error once, although k8s.io/apiserver and
// the kind both check metadata.
func TestErrorsAreReportedOnce(t *testing.T) {
	t.Parallel()
	invalid := func(obj runtime.Object) runtime.Object {
		meta := registry.MetaOf(obj)
		meta.SetName("n")
		meta.SetLabels(map[string]string{"a b": "c d"})
		meta.SetOwnerReferences([]metav1.OwnerReference{{}})
		meta.SetFinalizers([]string{"a b"})
		return obj
	}
	table := builtin.Table()
	groups := table.Groups()
	for i := range groups {
		for j := range groups[i].Kinds {
			kind := &groups[i].Kinds[j]
			if kind.List == nil {
				continue
			}
			t.Run(kind.Resource+"."+groups[i].Name, func(t *testing.T) {
				t.Parallel()
				ctx := genericapirequest.WithRequestInfo(genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"}), &genericapirequest.RequestInfo{})
				s := table.Strategy(kind, registry.Dependencies{AllowPrivileged: true, Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer()})
				newObject := registry.NewOf(kind.Object)
				errs := rest.ValidateUpdate(ctx, invalid(newObject()), newObject(), s)
				if len(errs) == 0 {
					t.Error("no error, want those of the metadata")
				}
				times := map[string]int{}
				for _, err := range errs {
					if times[err.Error()]++; times[err.Error()] == 2 {
						t.Errorf("reported twice: %v", err)
					}
				}
			})
		}
	}
}
