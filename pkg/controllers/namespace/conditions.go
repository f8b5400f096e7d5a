package namespace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// verdict is the reason and the message of a condition.
type verdict struct{ reason, message string }

// conditions are the conditions of a namespace that is being deleted, in their order. A condition is true if its
// function bad returns a message.
var conditions = []struct {
	kind   corev1.NamespaceConditionType
	good   verdict
	reason string
	bad    func(*content) string
}{
	{
		corev1.NamespaceDeletionDiscoveryFailure,
		verdict{"ResourcesDiscovered", "All resources successfully discovered"},
		"DiscoveryFailed", (*content).discoveryFailure,
	},
	{
		corev1.NamespaceDeletionGVParsingFailure,
		verdict{"ParsedGroupVersions", "All legacy kube types successfully parsed"},
		"GroupVersionParsingFailed", func(c *content) string { return text(c.invalid) },
	},
	{
		corev1.NamespaceDeletionContentFailure,
		verdict{"ContentDeleted", "All content successfully deleted, may be waiting on finalization"},
		"ContentDeletionFailed", (*content).deletionFailure,
	},
	{
		corev1.NamespaceContentRemaining,
		verdict{"ContentRemoved", "All content successfully removed"},
		"SomeResourcesRemain", (*content).resourcesRemaining,
	},
	{
		corev1.NamespaceFinalizersRemaining,
		verdict{"ContentHasNoFinalizers", "All content-preserving finalizers finished"},
		"SomeFinalizersRemain", (*content).finalizersRemaining,
	},
}

// conditions returns the new conditions of the namespace. changed is true if they differ from the argument
// before.
func (c *content) conditions(before []corev1.NamespaceCondition, now metav1.Time) (after []corev1.NamespaceCondition, changed bool) {
	after = slices.Clone(before)
	for _, condition := range conditions {
		next := corev1.NamespaceCondition{
			Type: condition.kind, Status: corev1.ConditionFalse, LastTransitionTime: now,
			Reason: condition.good.reason, Message: condition.good.message,
		}
		if message := condition.bad(c); message != "" {
			next.Status, next.Reason, next.Message = corev1.ConditionTrue, condition.reason, message
		}
		i := slices.IndexFunc(after, func(old corev1.NamespaceCondition) bool { return old.Type == condition.kind })
		if i < 0 {
			after, changed = append(after, next), true
			continue
		}
		if after[i].Status == next.Status {
			next.LastTransitionTime = after[i].LastTransitionTime
		}
		changed = changed || after[i] != next
		after[i] = next
	}
	return after, changed
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (c *content) discoveryFailure() string {
	if failed := (*discovery.ErrGroupDiscoveryFailed)(nil); errors.As(c.undiscovered, &failed) {
		return fmt.Sprintf("Discovery failed for some groups, %d failing: %v", len(failed.Groups), failed)
	}
	return text(c.undiscovered)
}

func (c *content) deletionFailure() string {
	if len(c.undeleted) == 0 {
		return ""
	}
	var messages []string
	for _, err := range c.undeleted {
		messages = append(messages, err.Error())
	}
	slices.Sort(messages)
	return fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(messages), strings.Join(messages, ", "))
}

// resourcesRemaining returns the message about remaining objects. It returns "" while the controller deletes only
// pods, as kube-controller-manager does.
func (c *content) resourcesRemaining() string {
	var remaining []string
	for gvr, n := range c.remaining {
		remaining = append(remaining, fmt.Sprintf("%s.%s has %d resource instances", gvr.Resource, gvr.Group, n))
	}
	return c.sum("Some resources are remaining: ", remaining)
}

func (c *content) finalizersRemaining() string {
	var remaining []string
	for finalizer, n := range c.finalizers {
		remaining = append(remaining, fmt.Sprintf("%s in %d resource instances", finalizer, n))
	}
	return c.sum("Some content in the namespace has finalizers remaining: ", remaining)
}

func (c *content) sum(begin string, parts []string) string {
	if len(parts) == 0 || c.podsOnly {
		return ""
	}
	slices.Sort(parts)
	return begin + strings.Join(parts, ", ")
}
