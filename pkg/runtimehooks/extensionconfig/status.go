package extensionconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// maxMessage limits the message of a condition, in bytes. The CustomResourceDefinition allows 32768 characters.
const maxMessage = 4096

// shortened returns at most maxMessage bytes of a message. The result has no part of a UTF-8 character at its end.
func shortened(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "")
}

func setPaused(status *runtimev1.ExtensionConfigStatus, generation int64, paused bool) {
	condition := metav1.Condition{
		Type: runtimev1.PausedCondition, Status: metav1.ConditionFalse, Reason: runtimev1.NotPausedReason, ObservedGeneration: generation,
	}
	if paused {
		condition.Status, condition.Reason = metav1.ConditionTrue, runtimev1.PausedReason
		condition.Message = fmt.Sprintf("ExtensionConfig has the annotation %s", runtimev1.PausedAnnotation)
	}
	meta.SetStatusCondition(&status.Conditions, condition)
}

func setDiscovered(status *runtimev1.ExtensionConfigStatus, generation int64, err error) {
	condition := metav1.Condition{
		Type: runtimev1.DiscoveredCondition, Status: metav1.ConditionTrue, Reason: runtimev1.DiscoveredReason,
		ObservedGeneration: generation,
	}
	legacy := runtimev1.LegacyCondition{Type: runtimev1.DiscoveredCondition, Status: metav1.ConditionTrue}
	if err != nil {
		condition.Status, condition.Reason = metav1.ConditionFalse, runtimev1.NotDiscoveredReason
		condition.Message = shortened(err.Error())
		legacy.Status, legacy.Reason, legacy.Severity, legacy.Message = metav1.ConditionFalse, "DiscoveryFailed", "Error", condition.Message
	}
	meta.SetStatusCondition(&status.Conditions, condition)
	setLegacy(status, legacy)
}

// setLegacy sets the condition in the form of v1alpha1.
func setLegacy(status *runtimev1.ExtensionConfigStatus, condition runtimev1.LegacyCondition) {
	condition.LastTransitionTime = metav1.Now().Rfc3339Copy()
	if d := status.Deprecated; d != nil && d.V1Beta1 != nil {
		for _, was := range d.V1Beta1.Conditions {
			if was.Type == condition.Type && was.Status == condition.Status {
				condition.LastTransitionTime = was.LastTransitionTime
			}
		}
	}
	status.Deprecated = &runtimev1.ExtensionConfigDeprecatedStatus{
		V1Beta1: &runtimev1.ExtensionConfigV1Beta1DeprecatedStatus{Conditions: []runtimev1.LegacyCondition{condition}},
	}
}

// deprecated returns the handlers that implement deprecated versions of hooks, with these versions.
func (c *Controller) deprecated(handlers []runtimev1.ExtensionHandler) []string {
	var found []string
	for _, h := range handlers {
		gv, err := schema.ParseGroupVersion(h.RequestHook.APIVersion)
		if err != nil {
			continue // this doesn't happen: the client has parsed the reference before
		}
		d := c.options.Catalog.Hook(catalog.GroupVersionHook{Group: gv.Group, Version: gv.Version, Hook: h.RequestHook.Hook})
		if d != nil && d.Deprecated {
			found = append(found, fmt.Sprintf("%s (%s)", h.Name, d))
		}
	}
	return found
}

func setDeprecated(status *runtimev1.ExtensionConfigStatus, generation int64, handlers []string) {
	if len(handlers) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, runtimev1.DeprecatedHooksCondition)
		return
	}
	message := "Handlers implement deprecated hook versions: " + strings.Join(handlers, ", ")
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: runtimev1.DeprecatedHooksCondition, Status: metav1.ConditionTrue, Reason: runtimev1.DeprecatedHooksReason,
		Message: shortened(message), ObservedGeneration: generation,
	})
}

// writeStatus writes a status, if it has changed. It returns the stored ExtensionConfig.
func (c *Controller) writeStatus(ctx context.Context, config *runtimev1.ExtensionConfig, status *runtimev1.ExtensionConfigStatus) (*runtimev1.ExtensionConfig, error) {
	if equality.Semantic.DeepEqual(&config.Status, status) {
		return config, nil
	}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": config.ResourceVersion}, "status": patchOf(status)}
	return c.patch(ctx, config.Name, patch, "status")
}

// patchOf returns a merge patch that replaces the status. Fields that the new status doesn't have are null in the
// patch, which removes them.
func patchOf(status *runtimev1.ExtensionConfigStatus) map[string]any {
	patch := map[string]any{"conditions": status.Conditions, "handlers": nil, "deprecated": nil}
	if len(status.Handlers) > 0 {
		patch["handlers"] = status.Handlers
	}
	if status.Deprecated != nil {
		patch["deprecated"] = status.Deprecated
	}
	return patch
}

// patch applies a merge patch to an ExtensionConfig.
func (c *Controller) patch(ctx context.Context, name string, patch map[string]any, subresources ...string) (*runtimev1.ExtensionConfig, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	stored, err := c.options.Dynamic.Resource(runtimev1.Resource()).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("writing ExtensionConfig %q: %w", name, err)
	}
	config := &runtimev1.ExtensionConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, config); err != nil {
		return nil, fmt.Errorf("ExtensionConfig %q: %w", name, err)
	}
	return config, nil
}
