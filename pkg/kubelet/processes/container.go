package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/containerlog"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
)

// minimumGrace is the time that a container has after its preStop hook, as with a kubelet.
const minimumGrace = 2 * time.Second

// configRetry is the delay before a container is created again whose configuration lacks something.
const configRetry = 10 * time.Second

// These are the exit codes of a container that could not start, and of one whose end nobody has seen.
const (
	codeStartError = 128
	codeUnknown    = 137
)

// container is a container of a pod that runs. If its annotation doesn't name a command, it pretends to run.
type container struct {
	pod     *pod
	spec    *corev1.Container
	path    string // in the specification of the pod, for Events
	folder  string
	runs    bool
	init    bool
	sidecar bool
	poked   chan struct{}
	backoff backoff

	status condition.Variable[status]

	mu      sync.Mutex
	logs    map[int32]*containerlog.Log // by the number of restarts
	console *console                    // of the present run, or nil
}

// status is the status of a container.
type status corev1.ContainerStatus

// String implements fmt.Stringer, for errors.
func (s status) String() string { return fmt.Sprintf("container %s: %v", s.Name, s.State) }

// newContainer returns a container. If a former server has run it, nobody has seen its end.
func newContainer(p *pod, spec *corev1.Container, previous []corev1.ContainerStatus) *container {
	_, runs := environment.CommandOf(p.start, spec.Name)
	init := slices.ContainsFunc(p.start.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == spec.Name })
	c := &container{
		pod: p, spec: spec, folder: filepath.Join(p.folder, spec.Name), runs: runs, init: init,
		sidecar: init && spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways,
		path:    "spec.containers{" + spec.Name + "}", poked: make(chan struct{}, 1), logs: map[int32]*containerlog.Log{},
	}
	if init {
		c.path = "spec.initContainers{" + spec.Name + "}"
	}
	s := corev1.ContainerStatus{Name: spec.Name, Image: spec.Image, Started: new(false), State: waiting("ContainerCreating", "")}
	if len(p.start.Spec.InitContainers) > 0 {
		s.State = waiting("PodInitializing", "")
	}
	if i := slices.IndexFunc(previous, func(s corev1.ContainerStatus) bool { return s.Name == spec.Name }); i >= 0 {
		s = *previous[i].DeepCopy()
		if running := s.State.Running; running != nil {
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: codeUnknown, Reason: "ContainerStatusUnknown", Message: "The container ended with the server that ran it",
				StartedAt: running.StartedAt, FinishedAt: metav1.Now(), ContainerID: s.ContainerID,
			}}
		}
		s.Ready, s.Started = false, new(false)
	}
	podstatus.Describe(&s, *spec)
	c.status.Set(status(s))
	return c
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// state returns the status.
func (c *container) state() corev1.ContainerStatus {
	var now corev1.ContainerStatus
	c.status.Read(func(s status) { now = *(*corev1.ContainerStatus)(&s).DeepCopy() })
	return now
}

// change changes the status, and tells the kubelet.
func (c *container) change(f func(*corev1.ContainerStatus)) {
	c.status.Update(func(s *status) { f((*corev1.ContainerStatus)(s)) })
	c.pod.tell()
}

func (c *container) warn(reason, format string, args ...any) {
	c.pod.runtime.events.Warn(c.reference(), reason, format, args...)
}

func (c *container) inform(reason, format string, args ...any) {
	c.pod.runtime.events.Tell(c.reference(), reason, format, args...)
}

func (c *container) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: c.pod.name.Namespace, Name: c.pod.name.Name, UID: c.pod.uid, FieldPath: c.path,
	}
}

// wake makes a container that lacks a part of its configuration look again.
func (c *container) wake() {
	select {
	case c.poked <- struct{}{}:
	default: // it will look
	}
}

// exitCode returns the exit code of a container that has ended.
func (c *container) exitCode() (int32, bool) {
	if ended := c.state().State.Terminated; ended != nil {
		return ended.ExitCode, true
	}
	return 0, false
}

// awaitStarted waits until a container has started. It returns false if ctx ends.
func (c *container) awaitStarted(ctx context.Context) bool {
	return c.status.Wait(ctx, func(s status) bool { return s.Started != nil && *s.Started }) == nil
}

// restarts reports whether the container starts again after an end.
func (c *container) restarts(code int32) bool {
	return podstatus.Restarts(c.pod.start, c.spec, code) && (!c.init || c.sidecar || code != 0)
}

// run runs the container until it isn't restarted any more, or until ctx ends.
func (c *container) run(ctx context.Context) {
	if !c.runs {
		c.pretend()
		return
	}
	if code, ended := c.exitCode(); ended && !c.restarts(code) && !c.init {
		return
	}
	for ctx.Err() == nil {
		command, err := c.command(ctx, nil)
		if err != nil {
			if !c.lack(ctx, err) {
				break
			}
			continue
		}
		code := c.once(ctx, command)
		if ctx.Err() != nil || !c.restarts(code) || !c.waitForRestart(ctx) {
			break
		}
	}
	c.abandon()
}

// pretend lets the container run without a process, or end if it is an init container.
func (c *container) pretend() {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	c.change(func(s *corev1.ContainerStatus) {
		s.ImageID, s.ContainerID = s.Image, podstatus.ContainerID(c.pod.uid, s)
		s.Ready = true
		if s.State = (corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}); !c.init || c.sidecar {
			s.Started = new(true)
			return
		}
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now, ContainerID: s.ContainerID}}
	})
}

// endPretended ends a container that pretends to run.
func (c *container) endPretended() {
	if started := c.state().State.Running; !c.runs && started != nil {
		c.terminated(0, "", started.StartedAt.Time)
	}
}

// abandon ends a container that waits for a start that doesn't come, because the pod ends.
func (c *container) abandon() {
	if !c.pod.isFinal() {
		return
	}
	c.change(func(s *corev1.ContainerStatus) {
		switch last := s.LastTerminationState.Terminated; {
		case s.State.Waiting == nil:
		case last != nil:
			s.State, s.LastTerminationState = corev1.ContainerState{Terminated: last}, corev1.ContainerState{}
		default:
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: codeUnknown, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated",
			}}
		}
	})
}

// lack shows why the container can't be created, and waits. It returns false if ctx ends.
func (c *container) lack(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	c.warn("Failed", "Error: %v", err)
	c.change(func(s *corev1.ContainerStatus) { s.State = waiting("CreateContainerConfigError", err.Error()) })
	timer := time.NewTimer(configRetry)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.poked:
	case <-ctx.Done():
		return false
	}
	return true
}

// waitForRestart waits for the back-off. It returns false if ctx ends.
func (c *container) waitForRestart(ctx context.Context) bool {
	wait := c.backoff.next(time.Now())
	if wait == 0 {
		return true
	}
	pod := fmt.Sprintf("%s_%s(%s)", c.pod.name.Name, c.pod.name.Namespace, c.pod.uid)
	c.warn("BackOff", "Back-off restarting failed container %s in pod %s", c.spec.Name, pod)
	c.change(func(s *corev1.ContainerStatus) {
		s.LastTerminationState = corev1.ContainerState{Terminated: s.State.Terminated}
		s.State = waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", wait, c.spec.Name, pod))
	})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once runs the container once, and returns its exit code.
func (c *container) once(ctx context.Context, command group.Command) int32 {
	c.created()
	started := time.Now()
	log, err := c.openLog()
	if err == nil {
		err = os.WriteFile(c.messagePath(), nil, 0o600)
	}
	if err != nil {
		return c.failedToStart(err, started)
	}
	stdout, stderr := log.Stream("stdout"), log.Stream("stderr")
	command.Stdout, command.Stderr = stdout, stderr
	if c.spec.TTY {
		inTerminal(&command)
	}
	console := newConsole(c.spec.Stdin)
	console.connect(&command)
	running, err := c.pod.runtime.groups.Start(command)
	if err != nil {
		console.close()
		return c.failedToStart(errors.Join(err, log.Close()), started)
	}
	console.resize = running.Resize
	c.show(console)
	c.inform("Created", "Container created")
	c.inform("Started", "Container started")
	code := int32(c.watch(ctx, running, started))
	c.show(nil)
	console.close()
	err = errors.Join(stdout.Close(), stderr.Close(), log.Close())
	c.terminated(code, c.message(code, log), started)
	if err != nil {
		c.warn("Failed", "Error: %v", err)
	}
	return code
}

// show lets clients attach to a console.
func (c *container) show(console *console) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.console = console
}

// inTerminal gives a command a terminal, as container runtimes do.
func inTerminal(command *group.Command) {
	command.Terminal, command.Env = true, append([]string{"TERM=xterm"}, command.Env...)
}

// created gives the container the ID of its next run.
func (c *container) created() {
	c.status.Update(func(s *status) {
		if ended := s.State.Terminated; ended != nil {
			s.LastTerminationState = corev1.ContainerState{Terminated: ended}
		}
		if s.LastTerminationState.Terminated != nil {
			s.RestartCount++
		}
		s.ImageID, s.ContainerID = s.Image, podstatus.ContainerID(c.pod.uid, (*corev1.ContainerStatus)(s))
	})
}

func (c *container) failedToStart(err error, at time.Time) int32 {
	c.warn("Failed", "Error: %v", err)
	c.change(func(s *corev1.ContainerStatus) {
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: codeStartError, Reason: "StartError", Message: err.Error(), ContainerID: s.ContainerID,
			StartedAt: seconds(at), FinishedAt: seconds(time.Now()),
		}}
	})
	return codeStartError
}

// seconds returns a time as the API has it.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// terminated records the end of the container.
func (c *container) terminated(code int32, message string, started time.Time) {
	c.change(func(s *corev1.ContainerStatus) {
		ended := &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: "Completed", Message: message, ContainerID: s.ContainerID,
			StartedAt: seconds(started), FinishedAt: seconds(time.Now()),
		}
		if code != 0 {
			ended.Reason = "Error"
		}
		s.State = corev1.ContainerState{Terminated: ended}
		s.Ready, s.Started = c.init && !c.sidecar && code == 0, new(false)
	})
}

// These are the kubelet's limits of termination messages.
const (
	maxMessage      = 4096
	maxMessageLog   = 2048
	maxMessageLines = 80
)

func (c *container) messagePath() string { return filepath.Join(c.folder, "termination-log") }

// message returns the termination message.
func (c *container) message(code int32, log *containerlog.Log) string {
	file, err := os.Open(c.messagePath())
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxMessage))
	if err == nil && len(text) == 0 && code != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		return log.Tail(maxMessageLines, maxMessageLog)
	}
	return string(text)
}

// openLog opens the log of the next run. The log of the run before the last one is removed.
func (c *container) openLog() (*containerlog.Log, error) {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return nil, err
	}
	n := c.state().RestartCount
	log, err := containerlog.Create(c.logPath(n))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs[n] = log
	if _, ok := c.logs[n-2]; ok {
		delete(c.logs, n-2)
		return log, os.Remove(c.logPath(n - 2))
	}
	return log, nil
}

func (c *container) logPath(n int32) string {
	return filepath.Join(c.folder, strconv.Itoa(int(n))+".log")
}

// watch lets a run of the container have its probes and hooks until it ends, or ends it if ctx ends or if it isn't
// healthy. It returns the exit code.
func (c *container) watch(ctx context.Context, running *group.Group, started time.Time) int {
	exited, code := context.WithCancel(context.Background())
	var result int
	var background sync.WaitGroup
	background.Go(func() {
		result = running.Wait()
		code()
	})
	c.change(func(s *corev1.ContainerStatus) {
		if ended := s.State.Terminated; ended != nil {
			s.LastTerminationState = corev1.ContainerState{Terminated: ended}
		}
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: seconds(started)}}
		s.Ready, s.Started = false, new(false)
	})
	unhealthy := make(chan failure, 1)
	probing, endProbes := context.WithCancel(exited)
	background.Go(func() { c.monitor(probing, started, unhealthy) })
	select {
	case <-exited.Done():
	case failed := <-unhealthy:
		endProbes()
		c.inform("Killing", "%s", failed.reason)
		grace, cancel := context.WithTimeout(c.pod.killed, c.graceAfter(failed.probe))
		c.end(grace, exited, running)
		cancel()
	case <-ctx.Done():
		endProbes()
		if c.pod.killed.Err() == nil {
			c.inform("Killing", "Stopping container %s", c.spec.Name)
		}
		c.end(c.pod.killed, exited, running)
	}
	endProbes()
	background.Wait()
	return result
}

// graceAfter returns the grace period of a container whose probe has failed. The probe is nil for a hook.
func (c *container) graceAfter(probe *corev1.Probe) time.Duration {
	if probe != nil && probe.TerminationGracePeriodSeconds != nil {
		return time.Duration(*probe.TerminationGracePeriodSeconds) * time.Second
	}
	return ownGrace(c.pod.start)
}

// end calls the preStop hook, asks the processes to end, and kills them if they still run when grace ends.
func (c *container) end(grace, exited context.Context, running *group.Group) {
	ctx, cancel := context.WithCancel(grace)
	defer cancel()
	defer context.AfterFunc(exited, cancel)()
	if hooks := c.spec.Lifecycle; hooks != nil && hooks.PreStop != nil && ctx.Err() == nil {
		if err := c.hook(ctx, hooks.PreStop); err != nil && exited.Err() == nil {
			c.warn("FailedPreStopHook", "PreStopHook failed")
		}
		if grace.Err() != nil { // the hook has used the time up
			last, cancel := context.WithTimeout(c.pod.runtime.host.Runner.Life(), minimumGrace)
			defer cancel()
			defer context.AfterFunc(exited, cancel)()
			ctx = last
		}
	}
	running.Terminate()
	<-ctx.Done()
	running.Kill()
	<-exited.Done()
}

// log returns the log of the present run, or of the one before.
func (c *container) log(previous bool) (*containerlog.Log, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := int32(-1)
	for n := range c.logs {
		last = max(last, n)
	}
	if previous && c.state().State.Waiting == nil {
		last--
	}
	log, ok := c.logs[last]
	return log, ok
}

// workingDir returns the folder in which the processes start.
func (c *container) workingDir(view group.View, views bool) string {
	if dir := c.spec.WorkingDir; dir != "" {
		if there, ok := view.Resolve(dir); ok {
			if views {
				return dir
			}
			return there
		}
	}
	return view.Folder
}

// command returns the command of the container, or another one to run beside it.
func (c *container) command(ctx context.Context, words []string) (group.Command, error) {
	own := c.pod.environment()
	annotation, _ := environment.CommandOf(own.Pod, c.spec.Name)
	start, err := environment.Words(annotation)
	if err != nil {
		return group.Command{}, err
	}
	given, err := c.given(own.Pod)
	if err != nil {
		return group.Command{}, err
	}
	variables, err := environment.Variables(ctx, c.pod, own, c.spec, given)
	if err != nil {
		return group.Command{}, err
	}
	view, err := c.view(variables)
	if err != nil {
		return group.Command{}, err
	}
	views := c.pod.runtime.groups.HasViews() == nil
	if words == nil {
		for _, word := range slices.Concat(start, c.spec.Args) {
			words = append(words, environment.Expand(word, variables))
		}
	}
	made := group.Command{Args: words, Dir: c.workingDir(view, views)}
	if views {
		made.View = &view
	} else {
		if err := c.replaceMounts(view, variables); err != nil {
			return group.Command{}, err
		}
		words = slices.Clone(words)
		for i := range words {
			words[i] = relocate(words[i], view)
		}
		for name := range variables {
			variables[name] = relocate(variables[name], view)
		}
		made.Args = words
	}
	made.Env = environment.List(variables)
	return made, nil
}
