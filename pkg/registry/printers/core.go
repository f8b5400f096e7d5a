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
	Namespace = Of(
		[]Column{NameColumn, Text("Status", "The status of the namespace"), AgeColumn},
		func(n *corev1.Namespace) []any {
			return []any{n.Name, string(n.Status.Phase), Since(n.CreationTimestamp)}
		})

	ConfigMap = Of(
		[]Column{NameColumn, Text("Data", Doc(corev1.ConfigMap{}, "data")), AgeColumn},
		func(c *corev1.ConfigMap) []any {
			return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), Since(c.CreationTimestamp)}
		})

	Secret = Of(
		[]Column{
			NameColumn,
			Text("Type", Doc(corev1.Secret{}, "type")),
			Text("Data", Doc(corev1.Secret{}, "data")),
			AgeColumn,
		},
		func(s *corev1.Secret) []any {
			return []any{s.Name, string(s.Type), int64(len(s.Data)), Since(s.CreationTimestamp)}
		})

	// ServiceAccount counts no secrets: tokens haven't been listed there since 1.24.
	ServiceAccount = Of(
		[]Column{NameColumn, AgeColumn},
		func(s *corev1.ServiceAccount) []any { return []any{s.Name, Since(s.CreationTimestamp)} })

	ReplicationController = Of(
		[]Column{
			NameColumn,
			Number("Desired", Doc(corev1.ReplicationControllerSpec{}, "replicas")),
			Number("Current", Doc(corev1.ReplicationControllerStatus{}, "replicas")),
			Number("Ready", Doc(corev1.ReplicationControllerStatus{}, "readyReplicas")),
			AgeColumn,
			Wide(ContainersColumn),
			Wide(ImagesColumn),
			Wide(Text("Selector", Doc(corev1.ReplicationControllerSpec{}, "selector"))),
		},
		func(rc *corev1.ReplicationController) []any {
			var containers []corev1.Container
			if rc.Spec.Template != nil {
				containers = rc.Spec.Template.Spec.Containers
			}
			return []any{
				rc.Name, int64(ptr.Deref(rc.Spec.Replicas, 0)), int64(rc.Status.Replicas), int64(rc.Status.ReadyReplicas),
				Since(rc.CreationTimestamp),
				ContainerNames(containers), ContainerImages(containers), labels.FormatLabels(rc.Spec.Selector),
			}
		})
)

// ResourceQuota is shown as what is used of what is allowed; what is allowed as limits
// has a column of its own.
var ResourceQuota = Of(
	[]Column{
		NameColumn,
		Text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
		Text("Limit", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."),
		AgeColumn,
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
		return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), Since(q.CreationTimestamp)}
	})

// ComponentStatus is shown by its one condition.
var ComponentStatus = Of(
	[]Column{
		NameColumn,
		Text("Status", "Status of the component conditions"),
		Text("Message", "Message of the component conditions"),
		Text("Error", "Error of the component conditions"),
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
var Event = Of(
	[]Column{
		Text("Last Seen", Doc(corev1.Event{}, "lastTimestamp")),
		Text("Type", Doc(corev1.Event{}, "type")),
		Text("Reason", Doc(corev1.Event{}, "reason")),
		Text("Object", Doc(corev1.Event{}, "involvedObject")),
		Wide(Text("Subobject", Doc(corev1.ObjectReference{}, "fieldPath"))),
		Wide(Text("Source", Doc(corev1.Event{}, "source"))),
		Text("Message", Doc(corev1.Event{}, "message")),
		Wide(Text("First Seen", Doc(corev1.Event{}, "firstTimestamp"))),
		Wide(Text("Count", Doc(corev1.Event{}, "count"))),
		Wide(NameColumn),
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
	microsSince := func(t metav1.MicroTime) string { return Since(metav1.Time(t)) }

	firstSeen = Since(e.FirstTimestamp)
	if e.FirstTimestamp.IsZero() {
		firstSeen = microsSince(e.EventTime)
	}
	if e.Series != nil {
		return firstSeen, microsSince(e.Series.LastObservedTime), int64(e.Series.Count)
	}
	lastSeen = firstSeen
	if !e.LastTimestamp.IsZero() {
		lastSeen = Since(e.LastTimestamp)
	}
	// One that happened once has no count in events.k8s.io.
	return firstSeen, lastSeen, cmp.Or(int64(e.Count), 1)
}
