package printers

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Deployment and the other workloads are shown by how many of their pods there are.
var (
	Deployment = Of(
		[]Column{
			NameColumn,
			Text("Ready", "Number of the pod with ready state"),
			Text("Up-to-date", Doc(extensionsv1beta1.DeploymentStatus{}, "updatedReplicas")),
			Text("Available", Doc(extensionsv1beta1.DeploymentStatus{}, "availableReplicas")),
			AgeColumn,
			Wide(ContainersColumn),
			Wide(ImagesColumn),
			Wide(Text("Selector", Doc(extensionsv1beta1.DeploymentSpec{}, "selector"))),
		},
		func(d *appsv1.Deployment) []any {
			containers := d.Spec.Template.Spec.Containers
			// Unlike those of other workloads, an empty selector is shown as such.
			selector := "<invalid>"
			if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
				selector = s.String()
			}
			return []any{
				d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, ptr.Deref(d.Spec.Replicas, 0)),
				int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas), Since(d.CreationTimestamp),
				ContainerNames(containers), ContainerImages(containers), selector,
			}
		})

	ReplicaSet = Of(
		[]Column{
			NameColumn,
			Number("Desired", Doc(extensionsv1beta1.ReplicaSetSpec{}, "replicas")),
			Number("Current", Doc(extensionsv1beta1.ReplicaSetStatus{}, "replicas")),
			Number("Ready", Doc(extensionsv1beta1.ReplicaSetStatus{}, "readyReplicas")),
			AgeColumn,
			Wide(ContainersColumn),
			Wide(ImagesColumn),
			Wide(Text("Selector", Doc(extensionsv1beta1.ReplicaSetSpec{}, "selector"))),
		},
		func(rs *appsv1.ReplicaSet) []any {
			containers := rs.Spec.Template.Spec.Containers
			return []any{
				rs.Name, int64(ptr.Deref(rs.Spec.Replicas, 0)), int64(rs.Status.Replicas), int64(rs.Status.ReadyReplicas),
				Since(rs.CreationTimestamp),
				ContainerNames(containers), ContainerImages(containers), metav1.FormatLabelSelector(rs.Spec.Selector),
			}
		})

	StatefulSet = Of(
		[]Column{
			NameColumn,
			Text("Ready", "Number of the pod with ready state"),
			AgeColumn,
			Wide(ContainersColumn),
			Wide(ImagesColumn),
		},
		func(s *appsv1.StatefulSet) []any {
			containers := s.Spec.Template.Spec.Containers
			return []any{
				s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 0)), Since(s.CreationTimestamp),
				ContainerNames(containers), ContainerImages(containers),
			}
		})

	DaemonSet = Of(
		[]Column{
			NameColumn,
			Number("Desired", Doc(extensionsv1beta1.DaemonSetStatus{}, "desiredNumberScheduled")),
			Number("Current", Doc(extensionsv1beta1.DaemonSetStatus{}, "currentNumberScheduled")),
			Number("Ready", Doc(extensionsv1beta1.DaemonSetStatus{}, "numberReady")),
			Number("Up-to-date", Doc(extensionsv1beta1.DaemonSetStatus{}, "updatedNumberScheduled")),
			Number("Available", Doc(extensionsv1beta1.DaemonSetStatus{}, "numberAvailable")),
			Text("Node Selector", Doc(corev1.PodSpec{}, "nodeSelector")),
			AgeColumn,
			Wide(ContainersColumn),
			Wide(ImagesColumn),
			Wide(Text("Selector", Doc(extensionsv1beta1.DaemonSetSpec{}, "selector"))),
		},
		func(d *appsv1.DaemonSet) []any {
			pod := d.Spec.Template.Spec
			return []any{
				d.Name, int64(d.Status.DesiredNumberScheduled), int64(d.Status.CurrentNumberScheduled),
				int64(d.Status.NumberReady), int64(d.Status.UpdatedNumberScheduled), int64(d.Status.NumberAvailable),
				labels.FormatLabels(pod.NodeSelector), Since(d.CreationTimestamp),
				ContainerNames(pod.Containers), ContainerImages(pod.Containers), metav1.FormatLabelSelector(d.Spec.Selector),
			}
		})
)

// ControllerRevision is shown by whose revision it is, and which.
var ControllerRevision = Of(
	[]Column{
		NameColumn,
		Text("Controller", "Controller of the object"),
		Text("Revision", Doc(appsv1.ControllerRevision{}, "revision")),
		AgeColumn,
	},
	func(r *appsv1.ControllerRevision) []any {
		controller := ""
		if owner := metav1.GetControllerOf(r); owner != nil {
			kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
			controller = strings.ToLower(kind.String()) + "/" + owner.Name
		}
		return []any{r.Name, cmp.Or(controller, None), r.Revision, Since(r.CreationTimestamp)}
	})
