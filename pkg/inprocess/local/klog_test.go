package local

import (
	"bytes"
	"testing"
)

// A server's entries, such as those of this package, go to its log while it runs. A late "Shutting down" must not reach
// the standard error of a command that has nothing to say.
func TestKlogWithoutServer(t *testing.T) {
	t.Parallel()
	const info, failure = "I1130 03:18:53.855996    3868 tlsconfig.go:258] \"Shutting down\"\n", "E1130 03:18:53.855996    3868 a.go:1] \"no\"\n"
	var stderr bytes.Buffer
	var lines []string
	tap := &klogTap{stderr: &stderr, logs: map[*log]struct{}{}}
	tap.once.Do(func() {}) // the output of the process stays as it is
	running := &log{add: func(line string) { lines = append(lines, line) }}
	for _, test := range []struct {
		name, reason, entry string
		running             bool
		log, stderr         string
	}{
		{"info of a server", "the server writes it", info, true, info, ""},
		{"error of a server", "the server writes it", failure, true, failure, ""},
		{"late info", "a goroutine of the server has outlived it", info, false, "", ""},
		{"late error", "nothing else would tell of it", failure, false, "", failure},
	} {
		stderr.Reset()
		lines = nil
		if test.running {
			tap.attach(running)
		}
		if n, err := tap.Write([]byte(test.entry)); n != len(test.entry) || err != nil {
			t.Errorf("%s: want the whole entry to be taken, got %d, %v", test.name, n, err)
		}
		tap.detach(running)
		var got string
		for _, line := range lines {
			got += line + "\n"
		}
		if got != test.log || stderr.String() != test.stderr {
			t.Errorf("%s: want %q in the log and %q on standard error, got %q and %q: %s", test.name, test.log, test.stderr, got, stderr.String(), test.reason)
		}
	}
}

// The log of a server gets the entries of all packages that make up the server, and no entries of the test.
func TestServing(t *testing.T) {
	t.Parallel()
	const pkg = "github.com/miniapi-dev/miniapi/pkg/"
	for _, test := range []struct {
		name, reason, function string
		want                   bool
	}{
		{"server", "the server writes the entry itself", pkg + "server/health.Client.Await", true},
		{"library", "the library handles the requests", "k8s.io/apiserver/pkg/server.(*GenericAPIServer).NonBlockingRunWithContext", true},
		{"controller", "controllers run in the server", pkg + "controllers/objects.(*Informers).update", true},
		{"call of a hook", "the server calls hooks for clients", pkg + "runtimehooks/hookclient.(*Client).call", true},
		{"discovery of extensions", "the server discovers extensions", pkg + "runtimehooks/extensionconfig.(*Controller).next", true},
		{"extension", "an extension runs in the test", pkg + "runtimehooks/extension.(*Extension).ServeHTTP", false},
		{"fixture", "the fixture runs in the test", pkg + "miniapitest.Start", false},
		{"test", "the test has an output of its own", "example.com/operator_test.TestReconcile", false},
	} {
		if got := isOf(serving, test.function); got != test.want {
			t.Errorf("%s: an entry of %s counts as the server's: %t, want %t: %s", test.name, test.function, got, test.want, test.reason)
		}
	}
}
