package integration_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The condition Dangling of a FlowSchema is true if the schema's priority level doesn't exist. The server updates the
// condition after changes of schemas and of levels, as kube-apiserver's controller does.
func TestDanglingFlowSchema(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t).Client().FlowcontrolV1()
	schemas, levels := client.FlowSchemas(), client.PriorityLevelConfigurations()
	created := must(schemas.Create(t.Context(), flowSchema("schema", "level"), metav1.CreateOptions{}))(t)
	if len(created.Status.Conditions) > 0 {
		t.Errorf("want the condition to come later, as in a cluster, got %v", created.Status.Conditions)
	}
	const missing, found = `This FlowSchema references the PriorityLevelConfiguration object named "level" but there is no such object`,
		`This FlowSchema references the PriorityLevelConfiguration object named "level" and it exists`
	for _, step := range []struct {
		name    string
		do      func(context.Context) error
		status  flowcontrolv1.ConditionStatus
		reason  string
		message string
	}{
		{"the level is missing", func(context.Context) error { return nil }, flowcontrolv1.ConditionTrue, "NotFound", missing},
		{"the level is created", func(ctx context.Context) error {
			_, err := levels.Create(ctx, priorityLevel("level"), metav1.CreateOptions{})
			return err
		}, flowcontrolv1.ConditionFalse, "Found", found},
		{"another client writes another condition", func(ctx context.Context) error {
			_, err := schemas.Patch(ctx, "schema", types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"Dangling","status":"True"}]}}`), metav1.PatchOptions{}, "status")
			return err
		}, flowcontrolv1.ConditionFalse, "Found", found},
		{"the level is deleted", func(ctx context.Context) error {
			return levels.Delete(ctx, "level", metav1.DeleteOptions{})
		}, flowcontrolv1.ConditionTrue, "NotFound", missing},
		{"the schema refers to another level", func(ctx context.Context) error {
			_, err := schemas.Patch(ctx, "schema", types.MergePatchType, []byte(`{"spec":{"priorityLevelConfiguration":{"name":"exempt"}}}`), metav1.PatchOptions{})
			return err
		}, flowcontrolv1.ConditionFalse, "Found", `This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists`},
	} {
		ok(t, step.do(t.Context()))
		eventually(t, func(ctx context.Context) error {
			c, err := dangling(ctx, schemas, "schema")
			if err != nil || c.Status != step.status || c.Reason != step.reason || c.Message != step.message || c.LastTransitionTime.IsZero() {
				return fmt.Errorf("%s: want %s, %s, %s, got %v, %w", step.name, step.status, step.reason, step.message, c, orNone(err))
			}
			return nil
		})
	}
	managers := map[string]string{}
	for _, m := range must(schemas.Get(t.Context(), "schema", metav1.GetOptions{}))(t).ManagedFields {
		managers[m.Manager+" "+string(m.Operation)] = m.Subresource
	}
	if sub, found := managers["api-priority-and-fairness-config-consumer-v1 Apply"]; !found || sub != "status" {
		t.Errorf("want the condition to be owned as in a cluster, got %v", managers)
	}
}

// If admission refuses the condition, the server writes it again until admission allows it.
func TestDanglingFlowSchemaRefused(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	var tries atomic.Int32
	install(t, srv, validating("twice", answering(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if tries.Add(1) <= 2 {
			return miniapitest.Denied("not now")
		}
		return miniapitest.Allowed()
	}), on("UPDATE", "flowcontrol.apiserver.k8s.io/v1", "flowschemas/status")))
	schemas := srv.Client().FlowcontrolV1().FlowSchemas()
	must(schemas.Create(t.Context(), flowSchema("schema", "level"), metav1.CreateOptions{}))(t)
	eventually(t, func(ctx context.Context) error {
		_, err := dangling(ctx, schemas, "schema")
		return err
	})
	if n := tries.Load(); n != 3 {
		t.Errorf("want three tries, got %d", n)
	}
}

// dangling returns the status of a schema's condition Dangling.
func dangling(ctx context.Context, schemas typedv1.FlowSchemaInterface, name string) (flowcontrolv1.FlowSchemaCondition, error) {
	s, err := schemas.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return flowcontrolv1.FlowSchemaCondition{}, err
	}
	for _, c := range s.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			return c, nil
		}
	}
	return flowcontrolv1.FlowSchemaCondition{}, errors.New("the FlowSchema has no condition Dangling")
}

func flowSchema(name, level string) *flowcontrolv1.FlowSchema {
	return &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
	}}
}

func priorityLevel(name string) *flowcontrolv1.PriorityLevelConfiguration {
	return &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type:    flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}},
	}}
}
