package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
)

// PriorityLevelConfigurations returns the default priority levels: the mandatory and the suggested levels. Clients may
// expect these levels in a list, but this server doesn't queue requests by priority levels.
func PriorityLevelConfigurations() []*flowcontrolv1.PriorityLevelConfiguration {
	return updatedByServer(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations)
}

// FlowSchemas returns the default flow schemas. Their status says that the priority level of each schema exists.
func FlowSchemas() []*flowcontrolv1.FlowSchema {
	schemas := updatedByServer(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas)
	for _, schema := range schemas {
		schema.Status.Conditions = []flowcontrolv1.FlowSchemaCondition{Dangling(schema.Spec.PriorityLevelConfiguration.Name, true)}
	}
	return schemas
}

// Dangling returns a FlowSchema's condition Dangling, which is true if its priority level doesn't exist.
func Dangling(level string, exists bool) flowcontrolv1.FlowSchemaCondition {
	condition := flowcontrolv1.FlowSchemaCondition{
		Type:   flowcontrolv1.FlowSchemaConditionDangling,
		Status: flowcontrolv1.ConditionTrue,
		Reason: "NotFound",
		Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object",
			level),
		LastTransitionTime: metav1.Now(),
	}
	if exists {
		condition.Status, condition.Reason = flowcontrolv1.ConditionFalse, "Found"
		condition.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level)
	}
	return condition
}

// updatedByServer returns copies of the objects, with the annotation that allows Ensure to update their specs.
func updatedByServer[P interface {
	metav1.Object
	DeepCopy() P
}](lists ...[]P) []P {
	var objects []P
	for _, shared := range slices.Concat(lists...) {
		object := shared.DeepCopy()
		object.SetAnnotations(map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"})
		objects = append(objects, object)
	}
	return objects
}

// ensureFlowControl creates missing levels and schemas, and restores the specs of suggested levels and schemas that
// the server maintains (see isServers). The specs of mandatory levels and schemas can't be changed, except for the
// shares of the level exempt, which the operator of the cluster may set. See "maintenance of the objects" in the
// documentation of API priority and fairness.
func ensureFlowControl(ctx context.Context, client kubernetes.Interface) error {
	levels, schemas := client.FlowcontrolV1().PriorityLevelConfigurations(), client.FlowcontrolV1().FlowSchemas()
	haveLevels, err := levels.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list priority level configurations: %w", err)
	}
	haveSchemas, err := schemas.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list flow schemas: %w", err)
	}
	return utilerrors.NewAggregate([]error{
		reconcile(ctx, PriorityLevelConfigurations(), haveLevels.Items, levels.Create, func(want, have *flowcontrolv1.PriorityLevelConfiguration) error {
			if !isServers(have) || equality.Semantic.DeepEqual(want.Spec, have.Spec) {
				return nil
			}
			have.Spec = want.Spec
			return update(ctx, have, levels.Update)
		}),
		reconcile(ctx, FlowSchemas(), haveSchemas.Items, withStatus(schemas), func(want, have *flowcontrolv1.FlowSchema) error {
			if !isServers(have) || equality.Semantic.DeepEqual(want.Spec, have.Spec) {
				return nil
			}
			have.Spec = want.Spec
			return update(ctx, have, schemas.Update)
		}),
	})
}

// isServers tells whether the server maintains the spec of a suggested object. The object's annotation decides. Without
// the annotation, the server maintains an object of generation 1, because no user has changed its spec.
func isServers(have metav1.Object) bool {
	if name := have.GetName(); name == flowcontrolv1.PriorityLevelConfigurationNameExempt || name == flowcontrolv1.PriorityLevelConfigurationNameCatchAll {
		return false // the object is mandatory; a mandatory schema has the name of its level
	}
	if updated, err := strconv.ParseBool(have.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey]); err == nil {
		return updated
	}
	return have.GetGeneration() == 1
}

// update writes an object. After a conflict, or if the object is missing, it returns no error, because another server
// has written or deleted the object in the meantime.
func update[P metav1.Object](ctx context.Context, object P, do func(context.Context, P, metav1.UpdateOptions) (P, error)) error {
	if _, err := do(ctx, object, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// withStatus returns a function that creates a schema, and sets its status by a second request.
func withStatus(schemas typedv1.FlowSchemaInterface) func(context.Context, *flowcontrolv1.FlowSchema, metav1.CreateOptions) (*flowcontrolv1.FlowSchema, error) {
	return func(ctx context.Context, want *flowcontrolv1.FlowSchema, options metav1.CreateOptions) (*flowcontrolv1.FlowSchema, error) {
		created, err := schemas.Create(ctx, want, options)
		if err != nil {
			return nil, err
		}
		created.Status = want.Status
		return schemas.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	}
}
