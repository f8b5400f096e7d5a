package printers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// Namespace, and the further kinds of the core group that are shown by a few of their
// fields.
var (
	Namespace = of(
		[]column{nameColumn, text("Status", "The status of the namespace"), ageColumn},
		func(n *corev1.Namespace) []any {
			return []any{n.Name, string(n.Status.Phase), since(n.CreationTimestamp)}
		})

	ConfigMap = of(
		[]column{nameColumn, text("Data", doc(corev1.ConfigMap{}, "data")), ageColumn},
		func(c *corev1.ConfigMap) []any {
			return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), since(c.CreationTimestamp)}
		})

	Secret = of(
		[]column{
			nameColumn,
			text("Type", doc(corev1.Secret{}, "type")),
			text("Data", doc(corev1.Secret{}, "data")),
			ageColumn,
		},
		func(s *corev1.Secret) []any {
			return []any{s.Name, string(s.Type), int64(len(s.Data)), since(s.CreationTimestamp)}
		})

	// ServiceAccount counts no secrets: tokens haven't been listed there since 1.24.
	ServiceAccount = of(
		[]column{nameColumn, ageColumn},
		func(s *corev1.ServiceAccount) []any { return []any{s.Name, since(s.CreationTimestamp)} })

	ReplicationController = of(
		[]column{
			nameColumn,
			number("Desired", doc(corev1.ReplicationControllerSpec{}, "replicas")),
			number("Current", doc(corev1.ReplicationControllerStatus{}, "replicas")),
			number("Ready", doc(corev1.ReplicationControllerStatus{}, "readyReplicas")),
			ageColumn,
			wide(containersColumn),
			wide(imagesColumn),
			wide(text("Selector", doc(corev1.ReplicationControllerSpec{}, "selector"))),
		},
		func(rc *corev1.ReplicationController) []any {
			var containers []corev1.Container
			if rc.Spec.Template != nil {
				containers = rc.Spec.Template.Spec.Containers
			}
			return []any{
				rc.Name, int64(ptr.Deref(rc.Spec.Replicas, 0)), int64(rc.Status.Replicas), int64(rc.Status.ReadyReplicas),
				since(rc.CreationTimestamp),
				containerNames(containers), containerImages(containers), labels.FormatLabels(rc.Spec.Selector),
			}
		})
)

// ResourceQuota is shown as what is used of what is allowed; what is allowed as limits
// has a column of its own.
var ResourceQuota = of(
	[]column{
		nameColumn,
		text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
		text("Limit", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."),
		ageColumn,
	},
	func(q *corev1.ResourceQuota) []any {
		var requests, limits []string
		for _, resource := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			used, hard := q.Status.Used[resource], q.Status.Hard[resource]
			entry := fmt.Sprintf("%s: %s/%s", resource, used.String(), hard.String())
			if strings.HasPrefix(string(resource), "limits.") {
				limits = append(limits, entry)
			} else {
				requests = append(requests, entry)
			}
		}
		return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), since(q.CreationTimestamp)}
	})

// ComponentStatus is shown by its one condition.
var ComponentStatus = of(
	[]column{
		nameColumn,
		text("Status", "Status of the component conditions"),
		text("Message", "Message of the component conditions"),
		text("Error", "Error of the component conditions"),
	},
	func(c *corev1.ComponentStatus) []any {
		for _, condition := range c.Conditions {
			if condition.Type != corev1.ComponentHealthy {
				continue
			}
			status := "Unhealthy"
			if condition.Status == corev1.ConditionTrue {
				status = "Healthy"
			}
			return []any{c.Name, status, condition.Message, condition.Error}
		}
		return []any{c.Name, "Unknown", "", ""}
	})

// Event is shown as what happened to what, the last time first.
var Event = of(
	[]column{
		text("Last Seen", doc(corev1.Event{}, "lastTimestamp")),
		text("Type", doc(corev1.Event{}, "type")),
		text("Reason", doc(corev1.Event{}, "reason")),
		text("Object", doc(corev1.Event{}, "involvedObject")),
		wide(text("Subobject", doc(corev1.ObjectReference{}, "fieldPath"))),
		wide(text("Source", doc(corev1.Event{}, "source"))),
		text("Message", doc(corev1.Event{}, "message")),
		wide(text("First Seen", doc(corev1.Event{}, "firstTimestamp"))),
		wide(text("Count", doc(corev1.Event{}, "count"))),
		wide(nameColumn),
	},
	func(e *corev1.Event) []any {
		firstSeen, lastSeen, count := occurrences(e)
		object := strings.ToLower(e.InvolvedObject.Kind)
		if e.InvolvedObject.Name != "" {
			object += "/" + e.InvolvedObject.Name
		}
		source := cmp.Or(e.Source.Component, e.ReportingController)
		if instance := cmp.Or(e.Source.Host, e.ReportingInstance); instance != "" {
			source += ", " + instance
		}
		return []any{
			lastSeen, e.Type, e.Reason, object, e.InvolvedObject.FieldPath, source,
			strings.TrimSpace(e.Message), firstSeen, count, e.Name,
		}
	})

// occurrences says when an event was first and last seen and how often. Events of
// events.k8s.io say it in other fields than those of the core group.
func occurrences(e *corev1.Event) (firstSeen, lastSeen string, count int64) {
	microsSince := func(t metav1.MicroTime) string { return since(metav1.Time(t)) }

	firstSeen = since(e.FirstTimestamp)
	if e.FirstTimestamp.IsZero() {
		firstSeen = microsSince(e.EventTime)
	}
	if e.Series != nil {
		return firstSeen, microsSince(e.Series.LastObservedTime), int64(e.Series.Count)
	}
	lastSeen = firstSeen
	if !e.LastTimestamp.IsZero() {
		lastSeen = since(e.LastTimestamp)
	}
	// One that happened once has no count in events.k8s.io.
	return firstSeen, lastSeen, cmp.Or(int64(e.Count), 1)
}
