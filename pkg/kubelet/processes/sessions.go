package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/exec"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/endpoint"
)

// Process implements endpoint.Runtime.
func (r *Runtime) Process(uid types.UID, name string) (endpoint.Process, bool) {
	p, ok := r.pod(uid)
	if !ok {
		return nil, false
	}
	for _, c := range slices.Concat(p.init, p.regular) {
		if c.spec.Name == name && c.runs {
			return process{c}, true
		}
	}
	return nil, false
}

// Dial implements endpoint.Runtime. As with a kubelet, a server that listens on a loopback address is reached, too.
func (r *Runtime) Dial(ctx context.Context, uid types.UID, port int32) (net.Conn, bool, error) {
	p, ok := r.pod(uid)
	if !ok {
		return nil, false, nil
	}
	var failed error
	for _, host := range []string{p.loopback(), localhost} {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err == nil {
			return conn, true, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, true, failed
}

// process is a container that runs. It implements endpoint.Process.
type process struct{ *container }

// Logs implements endpoint.Process.
func (p process) Logs(ctx context.Context, w io.Writer, o *corev1.PodLogOptions) error {
	log, ok := p.log(o.Previous)
	if !ok {
		return fmt.Errorf("unable to retrieve container logs for %s", p.state().ContainerID)
	}
	return log.Read(ctx, w, o)
}

// Exec implements endpoint.Process.
func (p process) Exec(ctx context.Context, words []string, streams endpoint.Streams) error {
	command, err := p.command(ctx, words)
	if err != nil {
		return err
	}
	command.Stdin, command.Stdout, command.Stderr = streams.Stdin, streams.Stdout, streams.Stderr
	if streams.TTY {
		inTerminal(&command)
	}
	running, err := p.pod.runtime.groups.Start(command)
	if err != nil {
		return err
	}
	go resize(streams, running.Resize)
	code, err := running.WaitOrKill(ctx)
	if err == nil && code != 0 {
		err = exec.CodeExitError{Err: fmt.Errorf("command terminated with non-zero exit code: exit status %d", code), Code: code}
	}
	return err
}
