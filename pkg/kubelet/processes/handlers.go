package processes

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maxOutput is the number of bytes of a probe's output that an Event has.
const maxOutput = 10 << 10

// hook calls a lifecycle hook.
func (c *container) hook(ctx context.Context, h *corev1.LifecycleHandler) error {
	switch {
	case h.Exec != nil:
		return c.execAction(ctx, h.Exec)
	case h.HTTPGet != nil:
		return c.httpGet(ctx, h.HTTPGet, "kube-lifecycle/1.37", anyStatus)
	case h.Sleep != nil:
		timer := time.NewTimer(time.Duration(h.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return nil
	}
	return fmt.Errorf("invalid handler: %v", h) // the API has tcpSocket, but no kubelet calls it
}

// check calls the handler of a probe.
func (c *container) check(ctx context.Context, h corev1.ProbeHandler) error {
	switch {
	case h.Exec != nil:
		return c.execAction(ctx, h.Exec)
	case h.HTTPGet != nil:
		return c.httpGet(ctx, h.HTTPGet, "kube-probe/1.37", func(code int) bool { return code >= 200 && code < 400 })
	case h.TCPSocket != nil:
		return c.tcpSocket(ctx, h.TCPSocket)
	case h.GRPC != nil:
		return c.grpcCheck(ctx, h.GRPC)
	}
	return errors.New("missing probe handler")
}

func anyStatus(int) bool { return true }

// execAction runs a command in the container.
func (c *container) execAction(ctx context.Context, action *corev1.ExecAction) error {
	command, err := c.command(ctx, action.Command)
	if err != nil {
		return err
	}
	output := &buffer{}
	command.Stdout, command.Stderr = output, output
	code, err := c.pod.runtime.groups.Run(ctx, command)
	switch {
	case err != nil:
		return err
	case code != 0:
		return errors.New(output.String())
	}
	return nil
}

// buffer takes the output of both streams of a command.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// address returns the address of a port of the container, at the given host or at that of the pod.
func (c *container) address(host string, port intstr.IntOrString) (string, error) {
	if host == "" {
		host = c.pod.loopback()
	}
	if port.Type == intstr.Int {
		return net.JoinHostPort(host, strconv.Itoa(port.IntValue())), nil
	}
	for _, p := range c.spec.Ports {
		if p.Name == port.StrVal {
			return net.JoinHostPort(host, strconv.Itoa(int(p.ContainerPort))), nil
		}
	}
	if n, err := strconv.Atoi(port.StrVal); err == nil {
		return net.JoinHostPort(host, strconv.Itoa(n)), nil
	}
	return "", fmt.Errorf("couldn't find port: %v", port.String())
}

// loopback returns the loopback address at which the processes of the pod are reached.
func (p *pod) loopback() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.addresses.Pod) == 0 {
		return localhost
	}
	return loopback(p.addresses.Pod[0], p.hostNetwork)
}

func (c *container) httpGet(ctx context.Context, action *corev1.HTTPGetAction, agent string, accepted func(code int) bool) error {
	address, err := c.address(action.Host, action.Port)
	if err != nil {
		return err
	}
	target := url.URL{Scheme: strings.ToLower(string(action.Scheme)), Host: address}
	if target.Scheme == "" {
		target.Scheme = "http"
	}
	target.Path, target.RawQuery, _ = strings.Cut("/"+strings.TrimPrefix(action.Path, "/"), "?")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Accept", "*/*")
	for _, h := range action.HTTPHeaders {
		request.Header.Add(h.Name, h.Value)
		if http.CanonicalHeaderKey(h.Name) == "Host" {
			request.Host = h.Value
		}
	}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true, Proxy: nil,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as a kubelet: a pod has no certificate for its address
		},
		CheckRedirect: func(next *http.Request, _ []*http.Request) error {
			if next.URL.Hostname() != target.Hostname() {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxOutput))
	if !accepted(response.StatusCode) {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}

func (c *container) tcpSocket(ctx context.Context, action *corev1.TCPSocketAction) error {
	address, err := c.address(action.Host, action.Port)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (c *container) grpcCheck(ctx context.Context, action *corev1.GRPCAction) error {
	address, err := c.address("", intstr.FromInt32(action.Port))
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent("kube-probe/1.37"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	request := &healthv1.HealthCheckRequest{}
	if action.Service != nil {
		request.Service = *action.Service
	}
	response, err := healthv1.NewHealthClient(conn).Check(ctx, request)
	if err != nil {
		return err
	}
	if status := response.GetStatus(); status != healthv1.HealthCheckResponse_SERVING {
		return fmt.Errorf("service unhealthy (responded with %q)", status)
	}
	return nil
}
