package storagemigration

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/pager"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
)

// The reasons of conditions are those of kube-controller-manager.
const (
	runningReason   = "MigrationRunning"
	completedReason = "MigrationCompleted"
	succeededReason = "StorageVersionMigrationSucceeded"
	failedReason    = "StorageVersionMigrationFailed"

	// noNamespace is a namespace that can't exist. The empty list of its objects has the resource version of all objects.
	noNamespace = "@fake:svm_ns!"

	// patience is the time after the creation of a migration in which its resource may begin to be served.
	patience = time.Minute
)

var verbs = []string{"update", "patch", "list"}

// set sets a condition of a migration, without a write.
func set(m *storagemigrationv1.StorageVersionMigration, condition storagemigrationv1.MigrationConditionType, status metav1.ConditionStatus, reason, message string) {
	c := metav1.Condition{Type: string(condition), Status: status, Reason: reason, Message: message}
	if status == metav1.ConditionFalse {
		c.ObservedGeneration = m.Generation
	}
	meta.SetStatusCondition(&m.Status.Conditions, c)
}

func (c *Controller) write(ctx context.Context, m *storagemigrationv1.StorageVersionMigration) error {
	_, err := c.Migrations.StorageVersionMigrations().UpdateStatus(ctx, m, metav1.UpdateOptions{})
	return err
}

// fail ends a migration.
func (c *Controller) fail(ctx context.Context, m *storagemigrationv1.StorageVersionMigration, message string) error {
	set(m, storagemigrationv1.MigrationFailed, metav1.ConditionTrue, failedReason, message)
	return c.write(ctx, m)
}

// begin makes a migration the running one of its resource.
func (c *Controller) begin(ctx context.Context, m *storagemigrationv1.StorageVersionMigration) error {
	if err := c.markDefinition(ctx, m); err != nil {
		return err
	}
	set(m, storagemigrationv1.MigrationRunning, metav1.ConditionTrue, runningReason, progress(0, 0))
	return c.write(ctx, m)
}

// checkpoint stores the present resource version in a migration. Objects with a later one are in the storage version.
func (c *Controller) checkpoint(ctx context.Context, m *storagemigrationv1.StorageVersionMigration) error {
	resource, err := c.resourceOf(m)
	if err != nil {
		return err
	}
	if resource == nil {
		return c.fail(ctx, m, "resource does not exist in discovery")
	}
	if !resource.Can(verbs...) {
		return c.fail(ctx, m, fmt.Sprintf("resource %q does not support discovery operations: %v", resource.String(), verbs))
	}
	namespace := ""
	if resource.Namespaced {
		namespace = noNamespace
	}
	list, err := c.Metadata.Resource(resource.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("reading the resource version of %s: %w", resource, err)
	}
	version := list.GetResourceVersion()
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return c.fail(ctx, m, fmt.Sprintf("latest resourceVersion for %s is not valid: %v", resource, err))
	}
	m.Status.ResourceVersion = version
	return c.write(ctx, m)
}

// resourceOf returns the resource of a migration, or nil if it isn't served. Soon after the creation of the migration,
// this is an error, because the resource may begin to be served.
func (c *Controller) resourceOf(m *storagemigrationv1.StorageVersionMigration) (*served.Resource, error) {
	all, err := c.Resources.List()
	for i := range all {
		if all[i].Group == m.Spec.Resource.Group && all[i].Resource == m.Spec.Resource.Resource {
			return &all[i], nil
		}
	}
	if err == nil && time.Since(m.CreationTimestamp.Time) < patience {
		err = fmt.Errorf("the resource %s of the migration %s isn't served yet", m.Spec.Resource.String(), m.Name)
	}
	return nil, err
}

// migrate writes the objects again that the checkpoint has.
func (c *Controller) migrate(ctx context.Context, m *storagemigrationv1.StorageVersionMigration) error {
	resource, err := c.resourceOf(m)
	if err != nil {
		return err
	}
	if resource == nil {
		return c.fail(ctx, m, "migration encountered unhandled error: unable to obtain GVR from discovery")
	}
	var old []*metav1.PartialObjectMetadata
	total := 0
	if err := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (runtime.Object, error) {
		return c.Metadata.Resource(resource.GroupVersionResource).List(ctx, o)
	})).EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		o, ok := obj.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("list item of %s is a %T", resource, obj)
		}
		total++
		later, err := resourceversion.CompareResourceVersion(o.ResourceVersion, m.Status.ResourceVersion)
		if err == nil && later <= 0 {
			old = append(old, o)
		}
		return err
	}); err != nil {
		return err
	}
	for i, o := range old {
		err := c.rewrite(ctx, resource, o)
		switch left := len(old) - i; {
		case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err): // a client has written or deleted the object
		case isTransient(err):
			set(m, storagemigrationv1.MigrationRunning, metav1.ConditionTrue, runningReason, progress(left, total)+"; transient error: "+err.Error())
			_ = c.write(ctx, m)
			return err
		default:
			set(m, storagemigrationv1.MigrationRunning, metav1.ConditionTrue, runningReason, progress(left, total))
			return c.fail(ctx, m, fmt.Sprintf("%d/%d not yet migrated. migration encountered unhandled error: %s", left, total, err))
		}
	}
	set(m, storagemigrationv1.MigrationRunning, metav1.ConditionTrue, runningReason, progress(0, total))
	set(m, storagemigrationv1.MigrationSucceeded, metav1.ConditionTrue, succeededReason, "Migration completed")
	return c.write(ctx, m)
}

// rewrite writes an object again by a patch that changes nothing.
func (c *Controller) rewrite(ctx context.Context, resource *served.Resource, o *metav1.PartialObjectMetadata) error {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": resource.Kind, "metadata": map[string]string{"resourceVersion": o.ResourceVersion},
	})
	if err != nil {
		return err
	}
	_, err = c.Dynamic.Resource(resource.GroupVersionResource).Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Account})
	return err
}

func progress(left, total int) string {
	switch {
	case total == 0:
		return "The migration is running"
	case left > 0:
		return fmt.Sprintf("The migration is running, %d/%d objects not yet migrated", left, total)
	}
	return fmt.Sprintf("The migration is running, %d objects verified migrated", total)
}

// isTransient reports whether a later request may succeed.
func isTransient(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsProbableEOF(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err)
}

// finish ends a migration that has succeeded or failed: the next one of its resource may run.
func (c *Controller) finish(ctx context.Context, m *storagemigrationv1.StorageVersionMigration) error {
	if err := c.finishDefinition(ctx, m); err != nil {
		return err
	}
	set(m, storagemigrationv1.MigrationRunning, metav1.ConditionFalse, completedReason, "Migration completed")
	return c.write(ctx, m)
}
