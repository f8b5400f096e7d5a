package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// evictionKind is the row of evictions in the server's table of kinds.
var evictionKind = registry.Kind{
	Resource:   "evictions",
	Namespaced: true,
	Feature:    "EvictionRequestAPI",
	Object:     &lifecyclev1alpha1.Eviction{}, List: &lifecyclev1alpha1.EvictionList{},
	Status:              true,
	StatusKeepsMetadata: true,
	Generation:          true,
	ConditionalUpdate:   true,
	Printer:             &evictionColumns,
	Hooks: registry.HooksOf[*lifecyclev1alpha1.Eviction]{
		Validate:             validateEviction,
		ValidateUpdate:       validateEvictionUpdate,
		ValidateStatusUpdate: validateEvictionStatusUpdate,
	},
}

func validateEviction(o *lifecyclev1alpha1.Eviction) field.ErrorList {
	return validation.CreatedNamed(&o.ObjectMeta, validation.Namespaced).Errs
}

func validateEvictionUpdate(o, old *lifecyclev1alpha1.Eviction) field.ErrorList {
	return validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs
}

// validateEvictionStatusUpdate checks the status, which a controller and the responders write. An eviction that has ended
// can't go on.
func validateEvictionStatusUpdate(o, old *lifecyclev1alpha1.Eviction) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	conditions := validation.StatusPath.Child("conditions")
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, conditions))
	ended := false
	for _, condition := range []lifecyclev1alpha1.EvictionConditionType{lifecyclev1alpha1.EvictionConditionFailed, lifecyclev1alpha1.EvictionConditionTargetEvicted} {
		was, is := meta.FindStatusCondition(old.Status.Conditions, string(condition)), meta.FindStatusCondition(o.Status.Conditions, string(condition))
		ended = ended || is != nil && is.Status == metav1.ConditionTrue
		if was == nil || was.Status != metav1.ConditionTrue {
			continue
		}
		if is == nil || is.Status == metav1.ConditionFalse || is.Reason != was.Reason {
			f.Add(field.Invalid(conditions, o.Status.Conditions, fmt.Sprintf("%s condition status cannot be reverted", condition)))
			ended = true
		}
	}
	f.Merge(newResponders(&o.Status, &old.Status, ended, time.Now()).validate())
	return f.Errs
}

var evictionColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Target", printers.Doc(lifecyclev1alpha1.EvictionSpec{}, "target")),
		printers.Text("Target Type", printers.Doc(lifecyclev1alpha1.EvictionSpec{}, "target")),
		printers.Text("Status", printers.Doc(lifecyclev1alpha1.EvictionStatus{}, "conditions")),
		printers.Text("Active Responder", printers.Doc(lifecyclev1alpha1.TargetResponder{}, "state")),
		printers.Text("Responder Status", printers.Doc(lifecyclev1alpha1.ResponderStatus{}, "")),
		printers.Text("Responder Expected Finish", printers.Doc(lifecyclev1alpha1.ResponderStatus{}, "expectedCompletionTime")),
		printers.Text("Requesters", printers.Doc(lifecyclev1alpha1.EvictionStatus{}, "requesters")),
		printers.AgeColumn,
		printers.Wide(printers.Text("Responder Heartbeat", printers.Doc(lifecyclev1alpha1.ResponderStatus{}, "heartbeatTime"))),
		printers.Wide(printers.Text("Responder Status Message", printers.Doc(lifecyclev1alpha1.ResponderStatus{}, "message"))),
	},
	func(e *lifecyclev1alpha1.Eviction) []any {
		target, targetType := unset, unset
		if pod := e.Spec.Target.Pod; pod != nil {
			target, targetType = pod.Name, "Pod"
		}
		r := responderCells(&e.Status)
		return []any{
			e.Name, target, targetType, state(e.Status.ObservedGeneration, e.Status.Conditions),
			r.name, r.status, r.finish, requesters(e.Status.Requesters), printers.Since(e.CreationTimestamp), r.heartbeat, r.message,
		}
	})

// cells are the cells about the active responder of an eviction, or about the last that has ended if none is active.
type cells struct{ name, status, finish, heartbeat, message string }

func responderCells(s *lifecyclev1alpha1.EvictionStatus) cells {
	begun := slices.DeleteFunc(slices.Clone(s.TargetResponders), func(t lifecyclev1alpha1.TargetResponder) bool {
		return t.State != lifecyclev1alpha1.ResponderStateActive && !hasEnded(t.State)
	})
	c := cells{name: unset, status: unset, finish: printers.Unknown, heartbeat: unset, message: unset}
	if len(begun) > 0 {
		shown := begun[len(begun)-1]
		for _, t := range begun {
			if t.State == lifecyclev1alpha1.ResponderStateActive {
				shown = t
			}
		}
		c.name = shown.Name
		if i := slices.IndexFunc(s.Responders, func(r lifecyclev1alpha1.ResponderStatus) bool { return r.Name == shown.Name }); i >= 0 {
			c.fill(shown.State, &s.Responders[i])
		}
	}
	c.name = fmt.Sprintf("%s (%d/%d)", c.name, len(begun), len(s.TargetResponders))
	return c
}

func (c *cells) fill(state lifecyclev1alpha1.ResponderStateType, r *lifecyclev1alpha1.ResponderStatus) {
	c.status = string(state)
	switch {
	case state != lifecyclev1alpha1.ResponderStateActive:
		c.finish = "-"
		if state == lifecyclev1alpha1.ResponderStateCompleted && r.CompletionTime != nil {
			c.status = fmt.Sprintf("%s (%s ago)", state, printers.Since(*r.CompletionTime))
		}
	case r.StartTime != nil:
		c.status = fmt.Sprintf("Started (%s ago)", printers.Since(*r.StartTime))
		if finish := r.ExpectedCompletionTime; finish != nil && finish.After(time.Now()) {
			c.finish = "in " + duration.HumanDuration(time.Until(finish.Time))
		} else if finish != nil {
			c.finish = printers.Since(*finish) + " ago"
		}
	}
	if r.HeartbeatTime != nil {
		c.heartbeat = printers.Since(*r.HeartbeatTime) + " ago"
	}
	if message := strings.TrimSpace(ptr.Deref(r.Message, "")); message != "" {
		c.message = message
	}
}

// requesters returns the first name of those that still request the eviction, and the number of the others.
func requesters(all []lifecyclev1alpha1.Requester) string {
	var names []string
	for _, r := range all {
		if r.Intent != lifecyclev1alpha1.RequesterIntentWithdrawn {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	switch {
	case len(all) == 0:
		return printers.None
	case len(names) == 0:
		return "<withdrawn>"
	case len(names) == 1:
		return names[0]
	}
	return fmt.Sprintf("%s + %d more...", names[0], len(names)-1)
}
