package storagemigration

import (
	"testing"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestStorageVersionMigration(t *testing.T) {
	t.Parallel()
	migration := func(resource, version string, conditions ...string) *storagemigrationv1.StorageVersionMigration {
		m := &storagemigrationv1.StorageVersionMigration{ObjectMeta: registrytest.ClusterStored("migration"),
			Spec:   storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Resource: resource}},
			Status: storagemigrationv1.StorageVersionMigrationStatus{ResourceVersion: version}}
		for _, c := range conditions {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, Reason: "R"})
		}
		return m
	}
	named := func(resource, group string) *storagemigrationv1.StorageVersionMigration {
		m := migration(resource, "")
		m.Spec.Resource.Group = group
		return m
	}
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{{
		name: "core", reason: "the group may be empty", errs: validateStorageVersionMigration(migration("pods", "")),
	}, {
		name: "nothing", reason: "a migration needs a resource", errs: validateStorageVersionMigration(migration("", "")),
		want: []string{"spec.resource.resource: Required value: resource is required to be set"},
	}, {
		name: "wrong names", reason: "names of resources and groups are DNS names", errs: validateStorageVersionMigration(named("A", "B")),
		want: []string{
			`spec.resource.resource: Invalid value: "A": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, ` +
				`and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
			`spec.resource.group: Invalid value: "B": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start ` +
				`and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		},
	}, {
		name: "something else", reason: "a migration keeps its resource",
		errs: validateStorageVersionMigrationUpdate(migration("pods", ""), migration("secrets", "")),
		want: []string{`spec: Invalid value: {"Resource":{"group":"","resource":"pods"}}: field is immutable`},
	}, {
		name: "no longer anything", reason: "an update is checked as a new migration is",
		errs: validateStorageVersionMigrationUpdate(migration("", ""), migration("pods", "")),
		want: []string{
			"spec.resource.resource: Required value: resource is required to be set",
			`spec: Invalid value: {"Resource":{"group":"","resource":""}}: field is immutable`,
		},
	}, {
		name: "no version", reason: "the controller compares versions as numbers",
		errs: validateStorageVersionMigrationStatusUpdate(migration("pods", "a"), migration("pods", "")),
		want: []string{`status.resourceVersion: Invalid value: "a": resource version is not well formed: a`},
	}, {
		name: "another version", reason: "later writes are already in the storage version",
		errs: validateStorageVersionMigrationStatusUpdate(migration("pods", "2"), migration("pods", "1")),
		want: []string{`status.resourceVersion: Invalid value: "2": field is immutable`},
	}, {
		name: "begun", reason: "the controller sets the version when the migration begins",
		errs: validateStorageVersionMigrationStatusUpdate(migration("pods", "2"), migration("pods", "")),
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
	for _, tc := range []struct {
		name, reason string
		now, old     []string
		want         string
	}{
		{"running", "the migration is running", []string{"Running"}, nil, ""},
		{"done", "the migration has rewritten all objects", []string{"Succeeded"}, []string{"Running"}, ""},
		{"both", "a migration either succeeds or fails", []string{"Succeeded", "Failed"}, nil,
			"Both success and failed conditions cannot be true at the same time"},
		{"done and running", "kube-apiserver doesn't compare the end with Running", []string{"Succeeded", "Running"}, nil, ""},
		{"failed and running", "kube-apiserver doesn't compare the end with Running", []string{"Failed", "Running"}, nil, ""},
		{"undone", "a migration that has ended doesn't begin again", nil, []string{"Succeeded"},
			"Success condition cannot be set to false once it is true"},
		{"forgotten", "a migration that has ended doesn't begin again", nil, []string{"Failed"},
			"Failed condition cannot be set to false once it is true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got string
			for _, err := range validateStorageVersionMigrationStatusUpdate(migration("pods", "", tc.now...), migration("pods", "", tc.old...)) {
				if err.Field == "status.conditions" {
					got += err.Detail
				}
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestStorageVersionMigrationColumns(t *testing.T) {
	t.Parallel()
	migration := func(conditions ...metav1.Condition) *storagemigrationv1.StorageVersionMigration {
		return &storagemigrationv1.StorageVersionMigration{
			ObjectMeta: registrytest.MonthOld("x"),
			Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: "apps", Resource: "deployments"}},
			Status:     storagemigrationv1.StorageVersionMigrationStatus{Conditions: conditions},
		}
	}
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{Name: "new", Reason: "the controller hasn't seen the migration", Object: migration(),
			Want: []any{"x", "deployments.apps", "Unknown"}},
		{
			Name: "failed", Reason: "the last condition of a known type that is true counts",
			Object: migration(metav1.Condition{Type: "Running", Status: "True"}, metav1.Condition{Type: "Failed", Status: "True"},
				metav1.Condition{Type: "Succeeded", Status: "False"}, metav1.Condition{Type: "Odd", Status: "True"}),
			Want: []any{"x", "deployments.apps", "Failed"},
		},
	})
}

func TestConditionalUpdate(t *testing.T) {
	t.Parallel()
	if registrytest.Strategy(t, registrytest.Table(t, Group), &storagemigrationv1.StorageVersionMigration{}).AllowUnconditionalUpdate(t.Context()) {
		t.Error("a PUT without a resourceVersion is accepted")
	}
}
