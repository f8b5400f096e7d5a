package pod

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// podColumns makes the rows of kubectl get. The column Status shows the state of the containers in one word.
var podColumns = withConditions(printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Ready", "The aggregate readiness state of this pod for accepting traffic."),
		printers.Text("Status", "The aggregate status of the containers in this pod."),
		printers.Text("Restarts",
			"The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
		printers.AgeColumn,
		printers.Wide(printers.Text("IP", printers.Doc(corev1.PodStatus{}, "podIP"))),
		printers.Wide(printers.Text("Node", printers.Doc(corev1.PodSpec{}, "nodeName"))),
		printers.Wide(printers.Text("Nominated Node", printers.Doc(corev1.PodStatus{}, "nominatedNodeName"))),
		printers.Wide(printers.Text("Readiness Gates", printers.Doc(corev1.PodSpec{}, "readinessGates"))),
	},
	func(p *corev1.Pod) []any {
		s := summarize(p)
		return []any{
			p.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.status, s.restarts.String(), printers.Since(p.CreationTimestamp),
			cmp.Or(podIP(p), printers.None), cmp.Or(p.Spec.NodeName, printers.None),
			cmp.Or(p.Status.NominatedNodeName, printers.None), readinessGates(p),
		}
	}), func(p *corev1.Pod) []metav1.TableRowCondition { return podOutcomes[p.Status.Phase] })

// podOutcomes maps the phase of a pod that has ended to the conditions of its row in kubectl get.
var podOutcomes = map[corev1.PodPhase][]metav1.TableRowCondition{
	corev1.PodSucceeded: {{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue,
		Reason: string(corev1.PodSucceeded), Message: "The pod has completed successfully.",
	}},
	corev1.PodFailed: {{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue,
		Reason: string(corev1.PodFailed), Message: "The pod failed.",
	}},
}

func withConditions[T any](p printers.Printer, conditions func(*T) []metav1.TableRowCondition) printers.Printer {
	p.Conditions = func(obj runtime.Object) []metav1.TableRowCondition { return conditions(any(obj).(*T)) }
	return p
}

// podSummary has the cells of a row that are computed from the pod's containers.
type podSummary struct {
	ready, total int
	status       string
	restarts     restartsCell
}

// restartsCell shows the number of restarts, and the time since the last restart.
type restartsCell struct {
	count int
	last  metav1.Time
}

func (r *restartsCell) add(c *corev1.ContainerStatus) {
	r.count += int(c.RestartCount)
	if ended := c.LastTerminationState.Terminated; ended != nil && r.last.Before(&ended.FinishedAt) {
		r.last = ended.FinishedAt
	}
}

func (r restartsCell) String() string {
	if r.count == 0 || r.last.IsZero() {
		return strconv.Itoa(r.count)
	}
	return fmt.Sprintf("%d (%s ago)", r.count, printers.Since(r.last))
}

func summarize(p *corev1.Pod) podSummary {
	s := podSummary{
		total:  len(p.Spec.Containers),
		status: cmp.Or(p.Status.Reason, string(p.Status.Phase)),
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			s.status = corev1.PodReasonSchedulingGated
		}
	}
	sidecars, initialized := s.addInitContainers(p)
	if initialized || podConditionTrue(p, corev1.PodInitialized) {
		// When the init containers have completed, only restarts of sidecars among them count.
		s.restarts = sidecars
		s.addContainers(p)
	}
	if p.DeletionTimestamp != nil {
		switch {
		case p.Status.Reason == "NodeLost":
			s.status = "Unknown"
		case p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed:
			s.status = "Terminating"
		}
	}
	return s
}

// addInitContainers adds the init containers to the summary, up to the first one that hasn't done its work.
// Sidecars are init containers that keep running. The results are the restarts of sidecars, and whether all init
// containers have done their work.
func (s *podSummary) addInitContainers(p *corev1.Pod) (sidecars restartsCell, initialized bool) {
	isSidecar := map[string]bool{}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; podspec.IsSidecar(c) {
			isSidecar[c.Name] = true
			s.total++
		}
	}
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		s.restarts.add(c)
		if isSidecar[c.Name] {
			sidecars.add(c)
		}
		terminated, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case terminated != nil && terminated.ExitCode == 0:
			continue
		case isSidecar[c.Name] && ptr.Deref(c.Started, false):
			if c.Ready {
				s.ready++
			}
			continue
		case terminated != nil:
			s.status = "Init:" + outcome(terminated)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.status = "Init:" + waiting.Reason
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
		}
		return sidecars, false
	}
	return sidecars, true
}

// addContainers adds the regular containers to the summary. The first container that waits or has ended determines the
// status that the row shows. If this status is Completed but another container is ready, the row shows Running or
// NotReady.
func (s *podSummary) addContainers(p *corev1.Pod) {
	running := false
	for i := range slices.Backward(p.Status.ContainerStatuses) {
		c := &p.Status.ContainerStatuses[i]
		s.restarts.add(c)
		switch state := c.State; {
		case state.Waiting != nil && state.Waiting.Reason != "":
			s.status = state.Waiting.Reason
		case state.Terminated != nil:
			s.status = outcome(state.Terminated)
		case c.Ready && state.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.status == "Completed" && running {
		s.status = "NotReady"
		if podConditionTrue(p, corev1.PodReady) {
			s.status = "Running"
		}
	}
}

// outcome returns the reason why a container has ended, or else the signal or the exit code.
func outcome(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func podConditionTrue(p *corev1.Pod, t corev1.PodConditionType) bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == t {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podIP returns the address that kubectl get shows: status.podIP or, if it is empty, the first of status.podIPs.
func podIP(p *corev1.Pod) string {
	if p.Status.PodIP == "" && len(p.Status.PodIPs) > 0 {
		return p.Status.PodIPs[0].IP
	}
	return p.Status.PodIP
}

func readinessGates(p *corev1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return printers.None
	}
	open := 0
	for _, gate := range p.Spec.ReadinessGates {
		if podConditionTrue(p, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(p.Spec.ReadinessGates))
}
