package builtin_test

import (
	"context"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// rowOf is the row that an object is of.
func rowOf(t *testing.T, obj runtime.Object) *registry.Kind {
	t.Helper()
	groups := builtin.Table().Groups()
	for i := range groups {
		for j := range groups[i].Kinds {
			if k := &groups[i].Kinds[j]; reflect.TypeOf(k.Object) == reflect.TypeOf(obj) {
				return k
			}
		}
	}
	t.Fatalf("there is no row of %T", obj)
	return nil
}

// strategyOf is the strategy of the row that an object is of, on a server that allows everything.
func strategyOf(t *testing.T, obj runtime.Object) registry.Strategy {
	t.Helper()
	return builtin.Table().Strategy(rowOf(t, obj), registry.Dependencies{
		AllowPrivileged: true, Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(),
	})
}

// allowed returns the context of an update by a user with all permissions.
func allowed() context.Context {
	ctx := genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: "jane"})
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{Verb: "update"})
}

// created are the errors of creating an object.
func created(t *testing.T, obj runtime.Object) field.ErrorList {
	t.Helper()
	return strategyOf(t, obj).Validate(allowed(), obj)
}

// updated are the errors of updating an object.
func updated(t *testing.T, obj, old runtime.Object) field.ErrorList {
	t.Helper()
	return strategyOf(t, obj).ValidateUpdate(allowed(), obj, old)
}

// statusUpdated are the errors of updating an object's status.
func statusUpdated(t *testing.T, obj, old runtime.Object) field.ErrorList {
	t.Helper()
	return registry.StatusStrategy{Strategy: strategyOf(t, obj)}.ValidateUpdate(allowed(), obj, old)
}
