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
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{{
		name: "core", reason: "the group may be empty", errs: validateStorageVersionMigration(migration("pods", "")),
	}, {
		name: "nothing", reason: "a migration needs a resource", errs: validateStorageVersionMigration(migration("", "")),
		want: []string{"spec.resource.resource: Required value: resource is required"},
	}, {
		name: "something else", reason: "a migration keeps its resource", errs: validateStorageVersionMigrationUpdate(migration("pods", ""), migration("secrets", "")),
		want: []string{`spec.resource: Invalid value: {"group":"","resource":"pods"}: field is immutable`},
	}, {
		name: "another version", reason: "later writes are already in the storage version", errs: validateStorageVersionMigrationStatusUpdate(migration("pods", "2"), migration("pods", "1")),
		want: []string{`status.resourceVersion: Invalid value: "2": field is immutable`},
	}, {
		name: "begun", reason: "the controller sets the version when the migration begins", errs: validateStorageVersionMigrationStatusUpdate(migration("pods", "2"), migration("pods", "")),
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
		{"both", "a migration either succeeds or fails", []string{"Succeeded", "Failed"}, nil, "Both success and failed conditions cannot be true at the same time"},
		{"done and running", "a migration that has ended doesn't run", []string{"Succeeded", "Running"}, nil, "Running condition cannot be true when success condition is true"},
		{"failed and running", "a migration that has ended doesn't run", []string{"Failed", "Running"}, nil, "Running condition cannot be true when failed condition is true"},
		{"undone", "a migration that has ended doesn't begin again", nil, []string{"Succeeded"}, "Success condition cannot be set to false once it is true"},
		{"forgotten", "a migration that has ended doesn't begin again", nil, []string{"Failed"}, "Failed condition cannot be set to false once it is true"},
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
