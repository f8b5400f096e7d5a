package storagemigration

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// storageVersionMigrationKind is the row of storageversionmigrations in the server's table of kinds.
var storageVersionMigrationKind = registry.Kind{
	Resource: "storageversionmigrations",
	Object:   &storagemigrationv1.StorageVersionMigration{}, List: &storagemigrationv1.StorageVersionMigrationList{},
	Feature:             "StorageVersionMigrator",
	Status:              true,
	StatusKeepsMetadata: true,
	ConditionalUpdate:   true,
	Printer:             &storageVersionMigrationColumns,
	Hooks: registry.HooksOf[*storagemigrationv1.StorageVersionMigration]{
		Validate:             validateStorageVersionMigration,
		ValidateUpdate:       validateStorageVersionMigrationUpdate,
		ValidateStatusUpdate: validateStorageVersionMigrationStatusUpdate,
	},
}

// validateStorageVersionMigration checks a new migration (KEP-4192).
func validateStorageVersionMigration(o *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	path, r := validation.SpecPath.Child("resource"), o.Spec.Resource
	if r.Resource == "" {
		f.Add(field.Required(path.Child("resource"), "resource is required to be set"))
	} else {
		f.Merge(validation.Follows(validation.Joined(utilvalidation.IsDNS1035Label, ","), path.Child("resource"), r.Resource))
	}
	if r.Group != "" {
		f.Merge(validation.Follows(validation.Joined(utilvalidation.IsDNS1123Subdomain, ","), path.Child("group"), r.Group))
	}
	return f.Errs
}

// validateStorageVersionMigrationUpdate checks an update of a migration. The spec can't change.
func validateStorageVersionMigrationUpdate(o, old *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	f := validation.Findings{Errs: validateStorageVersionMigration(o)}
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, validation.Unchanged(validation.SpecPath, o.Spec, old.Spec))
	return f.Errs
}

// validateStorageVersionMigrationStatusUpdate checks the status, which has the progress. A migration that has ended
// can't go on.
func validateStorageVersionMigrationStatusUpdate(o, old *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	version, path := validation.StatusPath.Child("resourceVersion"), validation.StatusPath.Child("conditions")
	if v := o.Status.ResourceVersion; v != "" {
		if _, err := resourceversion.CompareResourceVersion(v, v); err != nil {
			f.Add(field.Invalid(version, v, err.Error()))
		}
	}
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, path))
	if old.Status.ResourceVersion != "" {
		f.Merge(validation.Unchanged(version, o.Status.ResourceVersion, old.Status.ResourceVersion))
	}
	is := func(m *storagemigrationv1.StorageVersionMigration, condition storagemigrationv1.MigrationConditionType) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, string(condition))
	}
	const succeeded, failed = storagemigrationv1.MigrationSucceeded, storagemigrationv1.MigrationFailed
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{is(o, succeeded) && is(o, failed), "Both success and failed conditions cannot be true at the same time"},
		{is(old, succeeded) && !is(o, succeeded), "Success condition cannot be set to false once it is true"},
		{is(old, failed) && !is(o, failed), "Failed condition cannot be set to false once it is true"},
	} {
		f.AddIf(rule.broken, field.Invalid(path, o.Status.Conditions, rule.message))
	}
	return f.Errs
}

// storageVersionMigrationColumns makes the rows of kubectl get. They show the resource and the state. As in
// kube-apiserver, the name isn't formatted as a name, and there is no age.
var storageVersionMigrationColumns = printers.Of(
	[]printers.Column{
		printers.Text("Name", printers.Doc(metav1.ObjectMeta{}, "name")),
		printers.Text("Resource", "GroupResource to migrate"),
		printers.Text("Status", "Status of the migration"),
	},
	func(m *storagemigrationv1.StorageVersionMigration) []any {
		state := "Unknown"
		for _, c := range m.Status.Conditions {
			switch storagemigrationv1.MigrationConditionType(c.Type) {
			case storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationSucceeded, storagemigrationv1.MigrationFailed:
				if c.Status == metav1.ConditionTrue {
					state = c.Type
				}
			}
		}
		return []any{m.Name, m.Spec.Resource.String(), state}
	})
