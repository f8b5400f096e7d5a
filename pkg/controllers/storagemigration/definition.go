package storagemigration

import (
	"context"
	"encoding/json"
	"fmt"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// definitionManager is the field manager of the status of definitions, as in kube-controller-manager.
const definitionManager = "migration-runner-controller"

// storageMigrating is the condition of a definition whose custom resources are migrated.
const storageMigrating = "StorageMigrating"

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// markDefinition says in the definition of a migration's resource, if it has one, that the migration runs.
func (c *Controller) markDefinition(ctx context.Context, m *storagemigrationv1.StorageVersionMigration) error {
	return c.applyToDefinition(ctx, m, func(*unstructured.Unstructured) definitionStatus {
		return definitionStatus{condition: metav1.Condition{
			Status: metav1.ConditionTrue, Reason: runningReason, Message: fmt.Sprintf("Migration %s is running", m.Name),
		}}
	})
}

// finishDefinition says in the definition of a migration's resource that the migration has ended. If the definition
// hasn't changed meanwhile, only its storage version is stored.
func (c *Controller) finishDefinition(ctx context.Context, m *storagemigrationv1.StorageVersionMigration) error {
	return c.applyToDefinition(ctx, m, func(definition *unstructured.Unstructured) definitionStatus {
		unchanged := markedGeneration(definition) == definition.GetGeneration()
		s := definitionStatus{condition: metav1.Condition{Status: metav1.ConditionFalse, Reason: "MigrationFailed", Message: "The migration has failed"}}
		if is(m, storagemigrationv1.MigrationSucceeded) {
			s.condition.Reason, s.condition.Message = "MigrationSucceeded", "The migration has succeeded and the stored versions have been updated"
			if !unchanged {
				s.condition.Message = "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
			}
		}
		if unchanged {
			s.storedVersion = storageVersion(definition)
		}
		return s
	})
}

// definitionStatus is what a migration applies to the status of a definition.
type definitionStatus struct {
	condition     metav1.Condition
	storedVersion string
}

// applyToDefinition applies a status to the definition of a migration's resource. A resource without a definition is
// built in.
func (c *Controller) applyToDefinition(ctx context.Context, m *storagemigrationv1.StorageVersionMigration, statusOf func(*unstructured.Unstructured) definitionStatus) error {
	if m.Spec.Resource.Group == "" {
		return nil
	}
	name := m.Spec.Resource.Resource + "." + m.Spec.Resource.Group
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		definition, err := c.Dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		s := statusOf(definition)
		s.condition.Type, s.condition.LastTransitionTime, s.condition.ObservedGeneration = storageMigrating, metav1.Now(), definition.GetGeneration()
		status := map[string]any{"conditions": []metav1.Condition{s.condition}}
		if s.storedVersion != "" {
			status["storedVersions"] = []string{s.storedVersion}
		}
		// The resource version makes the server refuse the status if the definition has changed after the read.
		apply, err := json.Marshal(map[string]any{
			"apiVersion": definition.GetAPIVersion(), "kind": definition.GetKind(),
			"metadata": map[string]any{"name": name, "resourceVersion": definition.GetResourceVersion()}, "status": status,
		})
		if err != nil {
			return err
		}
		force := true
		_, err = c.Dynamic.Resource(definitions).Patch(ctx, name, types.ApplyPatchType, apply, metav1.PatchOptions{FieldManager: definitionManager, Force: &force}, "status")
		return err
	})
}

// markedGeneration returns the generation of a definition that markDefinition has seen, or -1.
func markedGeneration(definition *unstructured.Unstructured) int64 {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == storageMigrating {
			if generation, ok := condition["observedGeneration"].(int64); ok {
				return generation
			}
		}
	}
	return -1
}

// storageVersion returns the version in which a definition's custom resources are stored.
func storageVersion(definition *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok && version["storage"] == true {
			name, _ := version["name"].(string)
			return name
		}
	}
	return ""
}
