package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// "miniapi wait" ends when the server is ready, also if it has begun before the server.
func TestWait(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	waiting := start(t, "miniapi", "wait", "--kubeconfig="+file)
	server := start(t, "miniapi", "serve", "--secure-port=0", "--write-kubeconfig="+file)
	code, stdout, stderr := waiting.exit(t)
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "miniapi is ready on https://") {
		t.Errorf("want a ready server, got code %d, %q, %q", code, stdout, stderr)
	}
	if line := <-server.lines; !strings.HasPrefix(line, strings.TrimSpace(stdout)+": ") {
		t.Errorf("want the server of %q, got %q", stdout, line)
	}
}

// "miniapi wait" fails without a server.
func TestWaitFails(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for _, test := range []struct {
		name, reason, timeout string
		code                  int
		want                  string
	}{
		{"none", "no server has written the kubeconfig", "1ms", 1, "Error: no server is ready after 1ms: kubeconfig " + none},
		{"negative", "the command would never ask", "-1s", 2, "Error: --timeout -1s: must be more than 0"},
	} {
		p := start(t, "miniapi", "wait", "--kubeconfig="+none, "--timeout="+test.timeout)
		if code, _, stderr := p.exit(t); code != test.code || !strings.HasPrefix(stderr, test.want) {
			t.Errorf("%s: want code %d and %q because %s, got %d, %q", test.name, test.code, test.want, test.reason, code, stderr)
		}
	}
}
