package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/utils/exec"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/answers"
)

// These annotations of a pod say what its containers answer. One for a container alone has the container's name behind a
// dot, as in miniapi.dev/logs.web.
const (
	// LogsAnnotation has the log of a container.
	LogsAnnotation = "miniapi.dev/logs"
	// ExecAnnotation has the output of each command.
	ExecAnnotation = "miniapi.dev/exec"
	// ExecCodeAnnotation has the exit code of each command, 0 by default.
	ExecCodeAnnotation = "miniapi.dev/exec-code"
	// ForwardAnnotation has the address to which ports are forwarded. Its host is a loopback address.
	ForwardAnnotation = "miniapi.dev/port-forward"
)

// cannotExec is the exit code of a shell for a command that can't be executed.
const cannotExec = 126

// container is a container of a pod.
type container struct {
	pod    *corev1.Pod
	name   string
	status corev1.ContainerStatus
}

// container returns the container that a request names. The kubelets may not have seen the last change of the pod, so the
// server is asked before a container that doesn't run is returned.
func (e *Endpoint) container(r *http.Request) (container, error) {
	namespace, name := r.PathValue("namespace"), r.PathValue("pod")
	if pod, ok := e.pods.Pod(namespace, name); ok {
		if c, ok := containerOf(pod, r.PathValue("container")); ok && c.status.State.Running != nil {
			return c, nil
		}
	}
	pod, err := e.pods.Fresh(r.Context(), namespace, name)
	if err != nil {
		return container{}, fmt.Errorf("pod %q not found: %w", namespace+"/"+name, err)
	}
	c, ok := containerOf(pod, r.PathValue("container"))
	if !ok {
		return c, fmt.Errorf("container %q not found in pod %q", c.name, namespace+"/"+name)
	}
	return c, nil
}

// containerOf returns a container of a pod by its name.
func containerOf(pod *corev1.Pod, name string) (container, bool) {
	c := container{pod: pod, name: name}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		if s.Name == name {
			c.status = s
			return c, true
		}
	}
	return c, false
}

// hasEnded reports whether a container has ended that ran, as far as the kubelets have seen.
func (e *Endpoint) hasEnded(c container) bool {
	pod, ok := e.pods.Pod(c.pod.Namespace, c.pod.Name)
	if !ok || pod.UID != c.pod.UID {
		return true
	}
	now, _ := containerOf(pod, c.name)
	return now.status.State.Terminated != nil || now.status.ContainerID != "" && now.status.ContainerID != c.status.ContainerID
}

// annotation returns the annotation for the container, or else the one for all containers of the pod.
func (c container) annotation(name string) (string, bool) {
	value, ok := c.pod.Annotations[name+"."+c.name]
	if !ok {
		value, ok = c.pod.Annotations[name]
	}
	return value, ok
}

// logs serves the log of a container.
func (e *Endpoint) logs(w http.ResponseWriter, r *http.Request) {
	c, err := e.container(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	query := r.URL.Query()
	is := func(option string) bool { return query.Get(option) == "true" }
	started, err := c.started(is("previous"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if process, ok := e.pods.Process(c.pod.UID, c.name); ok {
		serveLogs(w, r, process)
		return
	}
	since, err := sinceOf(query.Get("sinceTime"), query.Get("sinceSeconds"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	lines, err := e.lines(c, LogsAnnotation, started, func() (string, bool) {
		return e.answers.LogFile(c.pod.Namespace, c.pod.Name, c.name, is("previous"))
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, selected(lines, since, is("timestamps"), number(query.Get("tailLines")), number(query.Get("limitBytes"))))
	if !is("follow") || c.status.State.Running == nil {
		return
	}
	_ = http.NewResponseController(w).Flush()
	_ = e.pods.Wait(r.Context(), func() bool { return e.hasEnded(c) }) // the error says that the client has gone
}

// lines returns what an annotation of a container says, or else a file.
func (e *Endpoint) lines(c container, annotation string, at time.Time, file func() (string, bool)) ([]answers.Line, error) {
	if text, ok := c.annotation(annotation); ok {
		return answers.Lines(text, at), nil
	}
	if path, ok := file(); ok {
		return answers.ReadLog(path, at)
	}
	return nil, nil
}

// sinceOf returns the time before which lines are left out.
func sinceOf(at, seconds string) (since time.Time, err error) {
	if at != "" {
		if since, err = time.Parse(time.RFC3339, at); err != nil {
			return since, fmt.Errorf("sinceTime: %w", err)
		}
	}
	if n, err := strconv.Atoi(seconds); err == nil {
		since = time.Now().Add(-time.Duration(n) * time.Second)
	}
	return since, nil
}

// serveLogs serves the log of a container that runs.
func serveLogs(w http.ResponseWriter, r *http.Request, process Process) {
	options, err := logOptions(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if err := process.Logs(r.Context(), flushing{w, http.NewResponseController(w)}, options); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// logOptions returns the options of a request for a log.
func logOptions(query url.Values) (*corev1.PodLogOptions, error) {
	o := &corev1.PodLogOptions{
		Follow: query.Get("follow") == "true", Previous: query.Get("previous") == "true", Timestamps: query.Get("timestamps") == "true",
	}
	for name, to := range map[string]**int64{"tailLines": &o.TailLines, "limitBytes": &o.LimitBytes, "sinceSeconds": &o.SinceSeconds} {
		if n := number(query.Get(name)); n >= 0 {
			*to = new(int64(n))
		}
	}
	if stream := query.Get("stream"); stream != "" {
		o.Stream = &stream
	}
	if text := query.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fmt.Errorf("sinceTime: %w", err)
		}
		o.SinceTime = new(metav1.NewTime(since))
	}
	return o, nil
}

// flushing sends what is written at once.
type flushing struct {
	io.Writer
	response *http.ResponseController
}

// Write implements io.Writer.
func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err == nil {
		err = f.response.Flush()
	}
	return n, err
}

// started returns the time at which a container has started, or the container before its last restart.
func (c container) started(previous bool) (time.Time, error) {
	state := c.status.State
	if previous {
		if state = c.status.LastTerminationState; state.Terminated == nil {
			return time.Time{}, fmt.Errorf("previous terminated container %q in pod %q not found", c.name, c.pod.Name)
		}
	}
	switch last := c.status.LastTerminationState.Terminated; {
	case state.Running != nil:
		return state.Running.StartedAt.Time, nil
	case state.Terminated != nil:
		return state.Terminated.StartedAt.Time, nil
	case last != nil:
		return last.StartedAt.Time, nil
	case state.Waiting != nil && state.Waiting.Reason != "":
		return time.Time{}, fmt.Errorf("container %q in pod %q is waiting to start: %s", c.name, c.pod.Name, state.Waiting.Reason)
	}
	return time.Time{}, fmt.Errorf("container %q in pod %q is not available", c.name, c.pod.Name)
}

// number returns the number of a query parameter, or -1 without one.
func number(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// selected returns the lines of a log that a request selects. A negative limit is none.
func selected(lines []answers.Line, since time.Time, timestamps bool, tail, limit int) string {
	lines = slices.DeleteFunc(lines, func(l answers.Line) bool { return l.At.Before(since) })
	if tail >= 0 && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	var text strings.Builder
	for _, line := range lines {
		if timestamps {
			text.WriteString(line.At.UTC().Format(time.RFC3339Nano) + " ")
		}
		text.WriteString(line.Text)
	}
	if limit >= 0 && limit < text.Len() {
		return text.String()[:limit]
	}
	return text.String()
}

// session is a session with a container. It implements remotecommand.Executor and Attacher.
type session struct {
	container
	endpoint *Endpoint
}

// ExecInContainer implements remotecommand.Executor.
func (s session) ExecInContainer(ctx context.Context, _, _, _ string, command []string, stdin io.Reader, stdout, stderr io.WriteCloser, tty bool, sizes <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if process, ok := s.endpoint.pods.Process(s.pod.UID, s.name); ok {
		return process.Exec(ctx, command, Streams{stdin, writer(stdout), writer(stderr), tty, sizes})
	}
	output, ok := s.annotation(ExecAnnotation)
	code := 0
	if text, given := s.annotation(ExecCodeAnnotation); given {
		var err error
		if code, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("annotation %s: %q must be a number", ExecCodeAnnotation, text)
		}
	} else if !ok {
		code = cannotExec
		message := fmt.Sprintf("container %q only pretends to run: give the output of commands by the annotation %s\n", s.name, ExecAnnotation)
		if stderr == nil {
			stderr = stdout
		}
		if stderr != nil {
			_, _ = io.WriteString(stderr, message)
		}
	}
	if stdout != nil {
		if _, err := io.WriteString(stdout, output); err != nil {
			return err
		}
	}
	if code != 0 {
		return exec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
	}
	return nil
}

// writer returns a stream, or nil without one.
func writer(stream io.WriteCloser) io.Writer {
	if stream == nil {
		return nil
	}
	return stream
}

// AttachContainer implements remotecommand.Attacher. The session lasts until the client ends its input, or until the
// container ends.
func (s session) AttachContainer(ctx context.Context, _, _, _ string, stdin io.Reader, stdout, stderr io.WriteCloser, tty bool, sizes <-chan remotecommand.TerminalSize) error {
	if process, ok := s.endpoint.pods.Process(s.pod.UID, s.name); ok {
		return process.Attach(ctx, Streams{stdin, writer(stdout), writer(stderr), tty, sizes})
	}
	lines, err := s.endpoint.lines(s.container, LogsAnnotation, time.Time{}, func() (string, bool) {
		return s.endpoint.answers.AttachFile(s.pod.Namespace, s.pod.Name, s.name)
	})
	if err != nil {
		return err
	}
	if stdout != nil {
		if _, err := io.WriteString(stdout, selected(lines, time.Time{}, false, -1, -1)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if stdin != nil {
		s.endpoint.run(func() {
			defer cancel()
			_, _ = io.Copy(io.Discard, stdin)
		})
	}
	err = s.endpoint.pods.Wait(ctx, func() bool { return s.endpoint.hasEnded(s.container) })
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// forwarder forwards ports of a pod. It implements portforward.PortForwarder.
type forwarder struct {
	pod      *corev1.Pod
	endpoint *Endpoint
}

// Address returns the address of this machine that stands in place of a port of a pod that pretends. Each user who may write
// a pod may write its annotation, whose address is a loopback address.
func (e *Endpoint) Address(pod *corev1.Pod, port int32) (string, error) {
	address, ok := container{pod: pod, name: strconv.Itoa(int(port))}.annotation(ForwardAnnotation)
	if !ok {
		if target, ok := e.answers.Target(pod.Namespace, pod.Name, port); ok {
			return net.JoinHostPort(target.Address, strconv.Itoa(int(target.Port))), nil
		}
		return "", fmt.Errorf("pod %s only pretends to run: name the address for port %d by the annotation %s", pod.Name, port, ForwardAnnotation)
	}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("annotation %s: %q must be a loopback address with a port, such as 127.0.0.1:8080", ForwardAnnotation, address)
	}
	return address, nil
}

// PortForward implements portforward.PortForwarder.
func (f forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	conn, runs, err := f.endpoint.pods.Dial(ctx, f.pod.UID, port)
	if !runs {
		conn, err = f.dialInPlace(ctx, port)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	f.endpoint.run(func() {
		_, _ = io.Copy(conn, stream) // what can't be sent is lost, as when the process has ended
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	})
	_, err = io.Copy(stream, conn)
	return err
}

// dialInPlace connects to the address that stands in place of a port of a pretended pod.
func (f forwarder) dialInPlace(ctx context.Context, port int32) (net.Conn, error) {
	address, err := f.endpoint.Address(f.pod, port)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}
