package local

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestMayBeStarting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		err    error
		want   bool
		reason string
	}{
		{"refused", syscall.ECONNREFUSED, true, "the process doesn't listen yet"},
		{"no route to host", syscall.EHOSTUNREACH, true, "the network of a container may follow its address"},
		{"network is unreachable", syscall.ENETUNREACH, true, "an interface of this machine may still be down"},
		{"not permitted", syscall.EPERM, false, "a rule of a firewall stays"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("GET: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", c.err)})
			if got := mayBeStarting(err); got != c.want {
				t.Errorf("%v: got %t, want %t: %s", err, got, c.want, c.reason)
			}
		})
	}
}
