package processes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	var b backoff
	now := time.Now()
	for _, step := range []struct {
		reason     string
		ran, waits time.Duration
	}{
		{"the first restart comes at once", 0, 0},
		{"then the kubelet waits", 0, 10 * time.Second},
		{"the delay doubles", 0, 20 * time.Second},
		{"the container has run for long", 20 * time.Minute, 0},
		{"it crashes again", 0, 10 * time.Second},
	} {
		now = now.Add(step.ran)
		got := b.next(now)
		if got != step.waits {
			t.Errorf("%s: want %v, got %v", step.reason, step.waits, got)
		}
		now = now.Add(got)
	}
	for range 10 {
		b.next(now)
	}
	if got := b.next(now); got != maxBackoff {
		t.Errorf("want at most %v, got %v", maxBackoff, got)
	}
}

func TestRelocate(t *testing.T) {
	t.Parallel()
	view := group.View{Binds: []group.Bind{{From: "/pod/conf", To: "/etc/app"}, {From: "/pod/tls", To: "/etc/app/tls"}}}
	for _, test := range []struct{ name, text, want, reason string }{
		{"argument", "/etc/app/x.yaml", "/pod/conf/x.yaml", "the path begins the text"},
		{"flag", "--certs=/etc/app/tls", "--certs=/pod/tls", "the longest mount path counts"},
		{"list", "/bin:/etc/app:/usr", "/bin:/pod/conf:/usr", "a path in a list"},
		{"other name", "/etc/apple /x/etc/app", "/etc/apple /x/etc/app", "no mount path"},
		{"script", "ls /etc/app; cat '/etc/app/b'", "ls /pod/conf; cat '/pod/conf/b'", "several paths"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := relocate(test.text, view); got != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, ip string
		hostNetwork      bool
		want             string
	}{
		{"node", "the pod has the network of its node", "198.18.0.1", true, localhost},
		{"IPv6", "there is one loopback address", "fd00::5", false, "::1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := loopback(test.ip, test.hostNetwork); got != test.want {
				t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
			}
		})
	}
}

func TestGraceAfter(t *testing.T) {
	t.Parallel()
	c := &container{pod: &pod{start: &corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(7))}}}}
	for _, test := range []struct {
		name, reason string
		probe        *corev1.Probe
		want         time.Duration
	}{
		{"own", "the probe that has failed has a grace period", &corev1.Probe{TerminationGracePeriodSeconds: new(int64(2))}, 2 * time.Second},
		{"none", "that of the pod counts", &corev1.Probe{}, 7 * time.Second},
		{"hook", "there is no probe", nil, 7 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := c.graceAfter(test.probe); got != test.want {
				t.Errorf("%s: want %v, got %v", test.reason, test.want, got)
			}
		})
	}
}

// As with a kubelet, a hook of the type tcpSocket fails.
func TestUnknownHooksFail(t *testing.T) {
	t.Parallel()
	if err := (&container{}).hook(t.Context(), &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{}}); err == nil {
		t.Error("want an error")
	}
}
