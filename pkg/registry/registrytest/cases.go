package registrytest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/featuregate"
	baseversion "k8s.io/component-base/version"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/features"
)

// Table returns a table of groups, for tests of a kind. The group of the kind is enough, unless the test converts
// the kind from a version of another group.
func Table(t *testing.T, groups ...registry.Group) *registry.Table {
	t.Helper()
	table, err := registry.NewTable(groups...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Row returns the registry.Kind of an object, which is the row of its kind in the table.
func Row(t *testing.T, table *registry.Table, obj runtime.Object) *registry.Kind {
	t.Helper()
	groups := table.Groups()
	for i := range groups {
		for j := range groups[i].Kinds {
			if k := &groups[i].Kinds[j]; reflect.TypeOf(k.Object) == reflect.TypeOf(obj) {
				return k
			}
		}
	}
	t.Fatalf("the table has no row for %T", obj)
	return nil
}

// Strategy returns the Strategy of an object's kind, on a server whose authorizer allows everything.
func Strategy(t *testing.T, table *registry.Table, obj runtime.Object) registry.Strategy {
	t.Helper()
	return table.Strategy(Row(t, table, obj), registry.Dependencies{
		AllowPrivileged: true, Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(),
	})
}

// MonthAgo returns a time that a table shows as "30d", even if the test takes minutes.
func MonthAgo() metav1.Time { return metav1.NewTime(time.Now().Add(-30 * 24 * time.Hour)) }

// MonthOld returns the metadata of an object that was created a month ago.
func MonthOld(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, CreationTimestamp: MonthAgo()}
}

// ColumnsCase is an object, with the cells of its row in the table of kubectl get.
type ColumnsCase struct {
	Name, Reason string
	Object       runtime.Object
	Want         []any
}

// CheckColumns compares the cells of each case's object with Want.
func CheckColumns(t *testing.T, table *registry.Table, cases []ColumnsCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			kind := Row(t, table, tc.Object)
			if kind.Printer == nil {
				t.Fatalf("%s has no Printer: the default columns need no case", kind.KindName())
			}
			if diff := cmp.Diff(tc.Want, kind.Printer.Cells(tc.Object)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
		})
	}
}

// WriteCase is a write of an object. Want has the texts of the errors or the warnings that the write must cause.
type WriteCase struct {
	Name, Reason string
	// Object is the object in the request. Old is the stored object. If Old is nil, the write is a create.
	Object, Old runtime.Object
	// Status is true for an update of the status subresource.
	Status bool
	// Through is the group version of the request. The default is that of the hub.
	Through schema.GroupVersion
	// Gates are the feature gates that are on, besides those that are on by default. CheckWarnings ignores them.
	Gates []string
	Want  []string
}

// CheckErrors compares the validation errors of each write with the Want of its case. The user has all permissions.
func CheckErrors(t *testing.T, table *registry.Table, cases []WriteCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithRequestInfo(genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: "jane"}),
				&genericapirequest.RequestInfo{Verb: "update", APIGroup: tc.Through.Group, APIVersion: tc.Through.Version})
			s := table.Strategy(Row(t, table, tc.Object), registry.Dependencies{
				AllowPrivileged: true, Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(), Gates: gatesWith(t, tc.Gates),
			})
			var errs field.ErrorList
			op := operation.Update
			switch {
			case tc.Old == nil:
				errs, op = s.Validate(ctx, tc.Object), operation.Create
			case tc.Status:
				errs = registry.StatusStrategy{Strategy: s}.ValidateUpdate(ctx, tc.Object, tc.Old)
			default:
				errs = s.ValidateUpdate(ctx, tc.Object, tc.Old)
			}
			errs = s.ValidateDeclaratively(ctx, tc.Object, tc.Old, errs, op, s.DeclarativeValidationConfig(ctx, tc.Object, tc.Old))
			WantErrors(t, tc.Reason, errs, tc.Want...)
		})
	}
}

// gatesWith returns feature gates of which some are on, besides those that are on by default.
func gatesWith(t *testing.T, on []string) featuregate.FeatureGate {
	t.Helper()
	if len(on) == 0 {
		return nil
	}
	gates, values := features.Of(version.MustParse(baseversion.DefaultKubeBinaryVersion)), map[string]bool{}
	for _, gate := range on {
		values[gate] = true
	}
	if err := gates.SetFromMap(values); err != nil {
		t.Fatal(err)
	}
	return gates
}

// CheckWarnings compares the warnings of each write with the Want of its case.
func CheckWarnings(t *testing.T, table *registry.Table, cases []WriteCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			s := Strategy(t, table, tc.Object)
			var got []string
			switch {
			case tc.Old == nil:
				got = s.WarningsOnCreate(context.Background(), tc.Object)
			case tc.Status:
				got = registry.StatusStrategy{Strategy: s}.WarningsOnUpdate(context.Background(), tc.Object, tc.Old)
			default:
				got = s.WarningsOnUpdate(context.Background(), tc.Object, tc.Old)
			}
			if diff := cmp.Diff(tc.Want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
		})
	}
}

// PrepareCase is a write of an object. Want is the object after preparation, as validation gets it.
type PrepareCase struct {
	Name, Reason string
	// Object is the object in the request. Old is the stored object. If Old is nil, the write is a create.
	Object, Old runtime.Object
	// Status is true for an update of the status subresource.
	Status bool
	Want   runtime.Object
}

// CheckPrepared prepares each object by PrepareForCreate or PrepareForUpdate, and compares the result with the Want of
// its case. The user of the requests is jane, with the uid u, the group g, and the extra value v for the key k. For a
// create, CheckPrepared ignores times, because they depend on the time of the test.
func CheckPrepared(t *testing.T, table *registry.Table, cases []PrepareCase) {
	t.Helper()
	ctx := genericapirequest.WithUser(Through(corev1.SchemeGroupVersion),
		&user.DefaultInfo{Name: "jane", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}})
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			s := Strategy(t, table, tc.Object)
			var options []cmp.Option
			if tc.Old != nil {
				// rest.BeforeUpdate does this before it calls the strategy.
				registry.MetaOf(tc.Object).SetGeneration(registry.MetaOf(tc.Old).GetGeneration())
			}
			switch {
			case tc.Old == nil:
				s.PrepareForCreate(ctx, tc.Object)
				options = append(options, cmpopts.IgnoreTypes(metav1.Time{}))
			case tc.Status:
				registry.StatusStrategy{Strategy: s}.PrepareForUpdate(ctx, tc.Object, tc.Old)
			default:
				s.PrepareForUpdate(ctx, tc.Object, tc.Old)
			}
			if diff := cmp.Diff(tc.Want, tc.Object, options...); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
		})
	}
}

// Generation returns metadata with only a generation.
func Generation(n int64) metav1.ObjectMeta { return metav1.ObjectMeta{Generation: n} }

// GenerationCase is an update, with the generation that the updated object must have.
type GenerationCase struct {
	Name, Reason string
	Object, Old  runtime.Object
	Want         int64
}

// CheckGenerations compares the generation of each updated object with Want.
func CheckGenerations(t *testing.T, table *registry.Table, cases []GenerationCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			Strategy(t, table, tc.Object).PrepareForUpdate(context.Background(), tc.Object, tc.Old)
			if got := registry.MetaOf(tc.Object).GetGeneration(); got != tc.Want {
				t.Errorf("generation %d, want %d: %s", got, tc.Want, tc.Reason)
			}
		})
	}
}

// FieldLabelCase is a field label in a client's field selector, with the field that the label stands for in the
// storage.
type FieldLabelCase struct {
	Name, Reason string
	Kind         schema.GroupVersionKind
	Label        string
	// Want is the field that the storage uses. If Want is empty, Err is the text of the error.
	Want, Err string
}

// CheckFieldLabels compares the field for each label with Want, or the error with Err.
func CheckFieldLabels(t *testing.T, table *registry.Table, cases []FieldLabelCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			got, value, err := table.Scheme().ConvertFieldLabel(tc.Kind, tc.Label, "v")
			if tc.Err != "" {
				if err == nil || err.Error() != tc.Err {
					t.Errorf("error %v, want %s (%s)", err, tc.Err, tc.Reason)
				}
				return
			}
			if err != nil || got != tc.Want || value != "v" {
				t.Errorf("%s=%s, %v; want %s=v (%s)", got, value, err, tc.Want, tc.Reason)
			}
		})
	}
}
