package storagemigration

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// storageVersionMigrationKind is the row of storageversionmigrations in the server's table of kinds.
var storageVersionMigrationKind = registry.Kind{
	Resource: "storageversionmigrations",
	Object:   &storagemigrationv1.StorageVersionMigration{}, List: &storagemigrationv1.StorageVersionMigrationList{},
	Status:              true,
	StatusKeepsMetadata: true,
	Hooks: registry.HooksOf[*storagemigrationv1.StorageVersionMigration]{
		Validate:             validateStorageVersionMigration,
		ValidateUpdate:       validateStorageVersionMigrationUpdate,
		ValidateStatusUpdate: validateStorageVersionMigrationStatusUpdate,
	},
}

// validateStorageVersionMigration checks a new migration (KEP-4192).
func validateStorageVersionMigration(o *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.AddIf(o.Spec.Resource.Resource == "", field.Required(field.NewPath("spec", "resource", "resource"), "resource is required"))
	return f.Errs
}

// validateStorageVersionMigrationUpdate checks an update of a migration. The resource can't change.
func validateStorageVersionMigrationUpdate(o, old *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.Unchanged(field.NewPath("spec", "resource"), o.Spec.Resource, old.Spec.Resource))
	return f.Errs
}

// validateStorageVersionMigrationStatusUpdate checks the status, which has the progress. A migration that has ended
// can't go on.
func validateStorageVersionMigrationStatusUpdate(o, old *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	status := field.NewPath("status")
	path := status.Child("conditions")
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, path))
	if old.Status.ResourceVersion != "" {
		f.Merge(validation.Unchanged(status.Child("resourceVersion"), o.Status.ResourceVersion, old.Status.ResourceVersion))
	}
	is := func(m *storagemigrationv1.StorageVersionMigration, condition storagemigrationv1.MigrationConditionType) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, string(condition))
	}
	const running, succeeded, failed = storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationSucceeded, storagemigrationv1.MigrationFailed
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{is(o, succeeded) && is(o, failed), "Both success and failed conditions cannot be true at the same time"},
		{is(o, running) && is(o, succeeded), "Running condition cannot be true when success condition is true"},
		{is(o, running) && is(o, failed), "Running condition cannot be true when failed condition is true"},
		{is(old, succeeded) && !is(o, succeeded), "Success condition cannot be set to false once it is true"},
		{is(old, failed) && !is(o, failed), "Failed condition cannot be set to false once it is true"},
	} {
		f.AddIf(rule.broken, field.Invalid(path, o.Status.Conditions, rule.message))
	}
	return f.Errs
}
