package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// A daemon outlives its command. Later commands find it by its name, bring back its objects, and stop it.
func TestDaemon(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	applied := file(t, "applied.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied, namespace: default}\n")
	serve := []string{"serve", "--daemon=web", "--write-kubeconfig=" + kubeconfig, "--apply=" + applied, "--trace-requests=5", "--runtime-config=api/beta=true"}
	if got := runMiniapi(t, serve...); !strings.HasPrefix(got, "miniapi is ready on https://127.0.0.1:") || !strings.HasSuffix(got, ` until "miniapi stop web": export KUBECONFIG=`+kubeconfig) {
		t.Errorf("want the ready line, got %q", got)
	}
	t.Cleanup(func() { start(t, "miniapi", "stop", "web").exit(t) })
	if diff := cmp.Diff([]string{"NAME AGE KUBECONFIG", "web " + kubeconfig}, withoutAge(runMiniapi(t, "list"))); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	maps := client(t, config).CoreV1().ConfigMaps("default")
	names := func() string {
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range list.Items {
			names = append(names, m.Name)
		}
		return strings.Join(names, " ")
	}
	begin := names()
	if !strings.Contains(begin, "applied") {
		t.Errorf("want the object of --apply, got %q", begin)
	}
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	snapshot := runMiniapi(t, "snapshot", "web")
	with := names()
	runMiniapi(t, "reset", "web")
	if got := names(); got != begin {
		t.Errorf("want %q after a reset, got %q", begin, got)
	}
	runMiniapi(t, "restore", "web", snapshot)
	if got := names(); got != with {
		t.Errorf("want %q after the snapshot is restored, got %q", with, got)
	}
	for _, test := range []struct {
		name, reason string
		args         []string
		code         int
		want         string
	}{
		{"twice", "a name stands for one daemon", serve, 1, `Error: --write-kubeconfig ` + kubeconfig + `: is the kubeconfig of the server at`},
		{"name", "a name stands for one daemon", []string{"serve", "--daemon=web"}, 1, `Error: the daemon web runs already: stop it by "miniapi stop web"`},
		{"port", "tests run at the same time", []string{"serve", "--daemon=other", "--secure-port=6443"}, 2, "Error: --secure-port: can't be given together with --daemon: a daemon takes a free port"},
		{"path", "a name is no path", []string{"serve", "--daemon=../web"}, 1, `Error: "../web" can't be the name of a daemon`},
		{"flag", "the server would refuse the value", []string{"serve", "--daemon=other", "--event-ttl=0s"}, 1, "event-ttl"},
		{"snapshot", "there is no such copy", []string{"restore", "web", "7"}, 1, "Error: "},
		{"unknown", "no daemon has the name", []string{"reset", "other"}, 1, `Error: there is no daemon other: "miniapi list" lists the daemons`},
		{"argument", "a daemon must be named", []string{"stop"}, 2, "Error: "},
	} {
		code, _, stderr := start(t, "miniapi", test.args...).exit(t)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: want code %d and %q because %s, got %d, %q", test.name, test.code, test.want, test.reason, code, stderr)
		}
	}
	runMiniapi(t, "stop", "web")
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("want no server any more, got %v", err)
	}
	if diff := cmp.Diff("[]", runMiniapi(t, "list", "-o", "json")); diff != "" {
		t.Errorf("list after the stop (-want +got):\n%s", diff)
	}
}

// A daemon whose process was killed isn't listed any more, and its name is free.
func TestKilledDaemon(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	serve := []string{"serve", "--daemon=web", "--write-kubeconfig=" + filepath.Join(t.TempDir(), "kubeconfig")}
	runMiniapi(t, serve...)
	t.Cleanup(func() { start(t, "miniapi", "stop", "web").exit(t) })
	var listed []struct{ PID int }
	if err := json.Unmarshal([]byte(runMiniapi(t, "list", "-o", "json")), &listed); err != nil || len(listed) != 1 {
		t.Fatalf("want a daemon, got %v, %v", listed, err)
	}
	process, err := os.FindProcess(listed[0].PID)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr := start(t, "miniapi", "reset", "web").exit(t)
	if want := "Error: the daemon web has ended: "; code != 1 || !strings.HasPrefix(stderr, want) {
		t.Errorf("want code 1 and %q, got %d, %q", want, code, stderr)
	}
	if got := runMiniapi(t, "list", "-o", "json"); got != "[]" {
		t.Errorf("want no daemon, got %s", got)
	}
	runMiniapi(t, serve...)
}

// withoutAge returns the words of the lines of a list, without the ages.
func withoutAge(list string) []string {
	lines := words(list)
	for i, line := range lines[1:] {
		fields := strings.Fields(line)
		lines[i+1] = strings.Join(append(fields[:1], fields[2:]...), " ")
	}
	return lines
}
