package miniapitest_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// WithFlags and inprocess.WithServerOptions set options that have no option of the fixture.
func TestFlags(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]miniapitest.Option{
		"flags": {miniapitest.WithFlags("--default-not-ready-toleration-seconds=7"), miniapitest.WithFlags("--allow-privileged")},
		"server options": {
			inprocess.WithServerOptions(func(o *server.Options) { o.Admission.NotReadyTolerationSeconds = 5 }),
			inprocess.WithServerOptions(func(o *server.Options) { o.Admission.NotReadyTolerationSeconds += 2 }),
			inprocess.Engine(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}}
			made, err := miniapitest.Start(t, options...).Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := *made.Spec.Tolerations[0].TolerationSeconds; got != 7 {
				t.Errorf("want 7 seconds, got %d", got)
			}
		})
	}
}

// Flags that the fixture sets itself are errors that name the option.
func TestRefusedFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, flag, want string }{
		{"data", "an option has it", "--data-dir=x", "WithFlags: --data-dir is not for tests: WithDataDir sets it"},
		{"gates", "they decide about the process", "--feature-gates=A=true", "WithFeatureGates sets it"},
		{"port", "two servers can't have one", "--secure-port=6443", "the server takes a free port"},
		{"unknown", "it may be misspelt", "--etcd-prefx=/a", "WithFlags: unknown flag: --etcd-prefx"},
		{"value", "the server can't take it", "--event-ttl=soon", "WithFlags: invalid argument"},
		{"no dashes", "it is a value of nothing", "x", `WithFlags: "x": a flag must be --name=value`},
		{"no name", "it ends the flags", "--", `WithFlags: "--": a flag must be --name=value`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), miniapitest.WithFlags(test.flag))
			if err == nil {
				_ = srv.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
}
