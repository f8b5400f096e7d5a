//go:build unix

package robustness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// process is a program that is started again and again with the same arguments.
type process struct {
	name string
	args []string
	// ready tells whether the process serves. It gets the output.
	ready func(ctx context.Context, output string) (bool, error)
	// dependent tells whether the start may fail because another process is down. Then it is tried again.
	dependent bool

	mu     sync.Mutex
	cmd    *exec.Cmd
	output *output
	ended  chan struct{}
}

// output is the output of a process, which may be read while the process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// launch starts the process, and doesn't wait until it is ready.
func (p *process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.output, p.ended = exec.Command(*program, p.args...), &output{}, make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // the exit code is in the state of the process
		close(ended)
	}(p.cmd, p.ended)
	return nil
}

// start starts the process, and returns when it is ready.
func (p *process) start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.await(ctx)
}

// await returns when the process is ready.
func (p *process) await(ctx context.Context) error {
	// A process that is started while the clients write is needed until after their end.
	err := wait.PollUntilContextTimeout(context.WithoutCancel(ctx), 5*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.ended:
			if p.dependent {
				return false, p.launch()
			}
			return false, errors.New("the process has ended")
		default:
			return p.ready(ctx, p.output.String())
		}
	})
	if err != nil {
		return fmt.Errorf("start of %s: %w: %s", p.name, err, p.output)
	}
	return nil
}

// end sends a signal, and returns when the process has ended.
func (p *process) end(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(startTimeout):
		return fmt.Errorf("%s hasn't ended %v after %v: %s", p.name, startTimeout, s, p.output)
	}
}

// run starts processes for the test, and returns when all are ready.
func run(t *testing.T, processes ...*process) {
	t.Helper()
	for _, p := range processes {
		if err := p.launch(); err != nil {
			t.Fatal(err)
		}
		p.cleanup(t)
	}
	for _, p := range processes {
		if err := p.await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// cleanup kills the process at the end of the test. If the test has failed, it shows the output.
func (p *process) cleanup(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		select {
		case <-p.ended:
			t.Errorf("%s has ended by itself", p.name)
		default:
		}
		if err := p.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s: %s", p.name, p.output)
		}
	})
}

// ends returns the faults of processes that end and start again, or stand still. The name of the processes begins the
// kinds of the faults. Slow syncs of the disk need strace: without it, the test's log says that they are left out.
func ends(t *testing.T, name string, processes ...*process) []fault {
	on := func(kind string, inject func(ctx context.Context, random *rand.Rand, p *process) error) fault {
		return fault{name + ": " + kind, func(ctx context.Context, random *rand.Rand) error {
			return inject(ctx, random, processes[random.IntN(len(processes))])
		}}
	}
	ended := func(s syscall.Signal) func(context.Context, *rand.Rand, *process) error {
		return func(ctx context.Context, random *rand.Rand, p *process) error {
			if err := p.end(s); err != nil {
				return err
			}
			if random.IntN(2) == 0 {
				quiet(ctx, random)
			}
			return p.start(ctx)
		}
	}
	t.Helper()
	all := []fault{
		on("killed", ended(syscall.SIGKILL)),
		on("stopped", ended(syscall.SIGTERM)),
		on("killed while it starts", func(ctx context.Context, random *rand.Rand, p *process) error {
			if err := p.end(syscall.SIGKILL); err != nil {
				return err
			}
			if err := p.launch(); err != nil {
				return err
			}
			last(ctx, random, 500*time.Millisecond)
			return errors.Join(p.end(syscall.SIGKILL), p.start(ctx))
		}),
		on("paused", func(ctx context.Context, random *rand.Rand, p *process) error {
			if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			last(ctx, random, longestFault)
			return p.cmd.Process.Signal(syscall.SIGCONT)
		}),
	}
	tracer, err := exec.LookPath("strace")
	if err != nil {
		t.Logf("%s: the disk is never slow: %v", name, err)
		return all
	}
	return append(all, on("slow fsync", func(ctx context.Context, random *rand.Rand, p *process) error {
		return slowly(ctx, random, tracer, p)
	}))
}

// slowly delays each sync of a process for a while. The tracer also makes the process slower as a whole.
func slowly(ctx context.Context, random *rand.Rand, tracer string, p *process) error {
	const delayed = "fsync,fdatasync"
	microseconds := 1000 * (50 + random.IntN(250))
	trace := exec.Command(tracer, "-f", "-qq", "-o", os.DevNull, "-e", "trace="+delayed,
		"-e", fmt.Sprintf("inject=%s:delay_enter=%d", delayed, microseconds), "-p", fmt.Sprint(p.cmd.Process.Pid))
	var said bytes.Buffer
	trace.Stderr = &said
	if err := trace.Start(); err != nil {
		return err
	}
	last(ctx, random, longestFault)
	if err := trace.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%s: %w: %s", trace, err, said.String())
	}
	_ = trace.Wait() // it ends by the signal
	return nil
}

// server returns a process of "miniapi serve", a link to it, and the client configuration of the link.
func server(t *testing.T, name string, dependent bool, args ...string) (*process, *link, *rest.Config) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	l := newLink(t, "")
	p := &process{name: name, dependent: dependent, args: append([]string{"serve", "--secure-port=0", "--write-kubeconfig=" + kubeconfig}, args...)}
	p.ready = func(_ context.Context, output string) (bool, error) {
		_, address, ready := strings.Cut(output, "miniapi is ready on https://")
		address, _, whole := strings.Cut(address, ": ")
		if ready && whole {
			l.retarget(address)
		}
		return ready && whole, nil
	}
	run(t, p)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Host = "https://" + l.address()
	return p, l, config
}

// freeAddress returns an address of a free port. Another process may take the port, until it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// answers returns a function that tells whether an address accepts connections.
func answers(address string) func(context.Context, string) (bool, error) {
	return func(ctx context.Context, _ string) (bool, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return false, nil
		}
		return true, c.Close()
	}
}
