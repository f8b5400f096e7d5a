package processes

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/podfiles"
)

const (
	// forcedGrace is the grace period of a pod that is deleted without one, as that of a kubelet.
	forcedGrace = time.Second
	// firstRetry and lastRetry are the first and the last delay before volumes are tried again, as those of a kubelet.
	firstRetry, lastRetry = 500 * time.Millisecond, 2*time.Minute + 2*time.Second
)

// pod is a pod with containers that run.
type pod struct {
	runtime     *Runtime
	name        cache.ObjectName
	uid         types.UID
	node        string
	hostNetwork bool
	folder      string
	volumes     *podfiles.Volumes
	poked       chan struct{} // a source of files and variables has changed
	done        chan struct{} // closed when no process is left

	// stopping ends when the containers have to end, and killed when they haven't ended in time.
	stopping, killed context.Context
	stop, kill       context.CancelFunc

	// start is the pod as it was at first. Its specification doesn't change.
	start *corev1.Pod

	mu              sync.Mutex
	spec            *corev1.Pod // the pod as it is
	addresses       podstatus.Addresses
	sandbox         bool
	final           bool // the containers don't start again
	reason, message string
	grace           time.Duration
	deadline        *time.Timer // of the grace period
	init, regular   []*container
}

func newPod(r *Runtime, spec *corev1.Pod, addresses podstatus.Addresses, folder string) *pod {
	p := &pod{
		runtime: r, name: cache.MetaObjectToName(spec), uid: spec.UID, node: spec.Spec.NodeName, hostNetwork: spec.Spec.HostNetwork,
		folder: folder, volumes: podfiles.New(folder + "/volumes"), poked: make(chan struct{}, 1), done: make(chan struct{}),
		start: spec, spec: spec, addresses: addresses,
	}
	p.killed, p.kill = context.WithCancel(r.host.Runner.Life())
	p.stopping, p.stop = context.WithCancel(p.killed)
	for i := range spec.Spec.InitContainers {
		p.init = append(p.init, newContainer(p, &spec.Spec.InitContainers[i], spec.Status.InitContainerStatuses))
	}
	for i := range spec.Spec.Containers {
		p.regular = append(p.regular, newContainer(p, &spec.Spec.Containers[i], spec.Status.ContainerStatuses))
	}
	return p
}

// update takes the present state of the pod's object.
func (p *pod) update(spec *corev1.Pod, addresses podstatus.Addresses) {
	p.mu.Lock()
	before := p.spec
	p.spec, p.addresses = spec, addresses
	p.mu.Unlock()
	switch {
	case spec.DeletionTimestamp != nil:
		p.terminate(graceOf(spec))
	case hasEnded(spec):
		p.terminate(ownGrace(spec))
	}
	if !maps.Equal(before.Labels, spec.Labels) || !maps.Equal(before.Annotations, spec.Annotations) {
		p.wake()
	}
}

// graceOf returns the grace period of the deletion of a pod.
func graceOf(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return forcedGrace
	}
	return max(forcedGrace, time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second)
}

// ownGrace returns the grace period of a pod that isn't deleted.
func ownGrace(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
}

// terminate ends the containers within a grace period. A later call may shorten it.
func (p *pod) terminate(grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.final = true
	switch {
	case p.deadline == nil:
		p.stop()
	case grace >= p.grace || !p.deadline.Stop():
		return
	}
	p.grace, p.deadline = grace, time.AfterFunc(grace, p.kill)
}

// fail lets the pod fail for a reason.
func (p *pod) fail(reason, message string) {
	p.mu.Lock()
	p.reason, p.message = reason, message
	p.mu.Unlock()
	p.terminate(ownGrace(p.spec))
}

// wake makes the pod look again at ConfigMaps, Secrets and its own labels.
func (p *pod) wake() {
	select {
	case p.poked <- struct{}{}:
	default: // it will look
	}
}

// tell says that the status has changed.
func (p *pod) tell() { p.runtime.changed(p.name.String()) }

// run runs the pod until its end.
func (p *pod) run() {
	defer p.tell()
	defer close(p.done)
	defer p.stop()
	defer p.kill()
	p.announce()
	if seconds := p.start.Spec.ActiveDeadlineSeconds; seconds != nil {
		left := time.Duration(*seconds) * time.Second
		if start := p.start.Status.StartTime; start != nil {
			left -= time.Since(start.Time)
		}
		defer time.AfterFunc(left, func() {
			p.fail("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
		}).Stop()
	}
	if !p.mount() {
		p.abandon()
		return
	}
	var background sync.WaitGroup // sidecars, and what keeps the files
	background.Go(p.keepFiles)
	p.mu.Lock()
	p.sandbox = true
	p.mu.Unlock()
	sidecars, stopSidecars := context.WithCancel(p.killed)
	defer stopSidecars()
	if p.initialize(sidecars, &background) {
		p.runRegular()
	}
	p.abandon()
	p.mu.Lock()
	p.final = true
	p.mu.Unlock()
	stopSidecars()
	p.stop()
	background.Wait()
	p.endPretended()
}

// announce says what of the pod's specification has no effect.
func (p *pod) announce() {
	var ignored []string
	contexts := []*corev1.SecurityContext{}
	for _, c := range slices.Concat(p.init, p.regular) {
		contexts = append(contexts, c.spec.SecurityContext)
	}
	if user := podUser(p.start.Spec.SecurityContext, contexts); user != "" {
		ignored = append(ignored, fmt.Sprintf("%s: processes run as the user of the server, uid %d", user, os.Getuid()))
	}
	for i := range p.start.Spec.Volumes {
		if v := &p.start.Spec.Volumes[i]; !podfiles.Given(v) {
			ignored = append(ignored, fmt.Sprintf("volume %s: is an empty folder in place of its source", v.Name))
		}
	}
	if err := p.runtime.groups.HasViews(); err != nil && len(p.start.Spec.Volumes) > 0 {
		ignored = append(ignored, fmt.Sprintf("mount paths: are below the folder of each container (%v)", err))
	}
	if len(ignored) > 0 {
		p.runtime.events.Tell(p.start, "RunsAsProcess", "Containers run as processes of the server's machine, which leave out: %s", strings.Join(ignored, "; "))
	}
}

// podUser names the first setting that asks for a user other than that of this process.
func podUser(pod *corev1.PodSecurityContext, containers []*corev1.SecurityContext) string {
	all := containers
	if pod != nil {
		all = append([]*corev1.SecurityContext{{RunAsUser: pod.RunAsUser, RunAsNonRoot: pod.RunAsNonRoot}}, all...)
	}
	for _, c := range all {
		switch {
		case c == nil:
		case c.RunAsUser != nil && *c.RunAsUser != int64(os.Getuid()):
			return fmt.Sprintf("runAsUser %d", *c.RunAsUser)
		case c.RunAsNonRoot != nil && *c.RunAsNonRoot && os.Getuid() == 0:
			return "runAsNonRoot"
		case c.Privileged != nil && *c.Privileged:
			return "privileged"
		}
	}
	return ""
}

// mount writes the volumes, and tries again until it succeeds. It returns false if the pod has to end.
func (p *pod) mount() bool {
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		err := p.volumes.Write(p.stopping, p, p.environment())
		if err == nil || p.stopping.Err() != nil {
			return err == nil
		}
		p.runtime.events.Warn(p.start, "FailedMount", "%v", err)
		if !p.pause(p.stopping, retry) {
			return false
		}
	}
}

// pause waits for a time, or until a ConfigMap or a Secret has changed. It returns false if ctx ends.
func (p *pod) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.poked:
	case <-ctx.Done():
		return false
	}
	return true
}

// keepFiles keeps the volumes up to date, and the tokens in them.
func (p *pod) keepFiles() {
	for retry := firstRetry; ; {
		next := lastRetry
		if renewal, ok := p.volumes.Renewal(); ok {
			next = max(firstRetry, time.Until(renewal))
		}
		if retry > firstRetry {
			next = min(next, retry)
		}
		if !p.pause(p.stopping, next) {
			return
		}
		for _, c := range slices.Concat(p.init, p.regular) {
			c.wake()
		}
		retry = firstRetry
		if err := p.volumes.Write(p.stopping, p, p.environment()); err != nil && p.stopping.Err() == nil {
			p.runtime.events.Warn(p.start, "FailedMount", "%v", err)
			retry *= 2
		}
	}
}

// initialize runs the init containers one after the other, and starts the sidecars. It returns false if one has failed,
// or if the pod has to end.
func (p *pod) initialize(sidecars context.Context, background *sync.WaitGroup) bool {
	for _, c := range p.init {
		if p.stopping.Err() != nil {
			return false
		}
		if c.sidecar {
			background.Go(func() { c.run(sidecars) })
			if !c.awaitStarted(p.stopping) {
				return false
			}
			continue
		}
		c.run(p.stopping)
		if code, ended := c.exitCode(); !ended || code != 0 {
			return false
		}
	}
	return p.stopping.Err() == nil
}

// runRegular runs the regular containers until all have ended.
func (p *pod) runRegular() {
	var running sync.WaitGroup
	for _, c := range p.regular {
		running.Go(func() { c.run(p.stopping) })
	}
	running.Wait()
	if !slices.ContainsFunc(p.regular, func(c *container) bool { return c.runs }) {
		<-p.stopping.Done()
	}
}

// endPretended ends the containers that pretend to run, after the others.
func (p *pod) endPretended() {
	for _, c := range slices.Concat(p.init, p.regular) {
		c.endPretended()
	}
}

// abandon ends the containers that have not started, if the pod is told to end.
func (p *pod) abandon() {
	for _, c := range slices.Concat(p.init, p.regular) {
		c.abandon()
	}
}

// isFinal reports whether the containers of the pod don't start again. A server that stops leaves them as they are.
func (p *pod) isFinal() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.final && p.runtime.host.Runner.Life().Err() == nil
}

// hasStopped reports whether no process of the pod is left.
func (p *pod) hasStopped() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// status returns the status of the pod, and whether no process is left.
func (p *pod) status() (corev1.PodStatus, bool) {
	ended := p.hasStopped()
	p.mu.Lock()
	defer p.mu.Unlock()
	status := *p.spec.Status.DeepCopy()
	if p.reason != "" {
		status.Reason, status.Message = p.reason, p.message
	}
	status.InitContainerStatuses, status.ContainerStatuses = statuses(p.init), statuses(p.regular)
	podstatus.Complete(p.spec, &status, p.sandbox && !ended, p.final, p.addresses, time.Now())
	if p.reason != "" && ended {
		status.Phase = corev1.PodFailed
	}
	return status, ended
}

func statuses(of []*container) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range of {
		all = append(all, c.state())
	}
	return all
}
