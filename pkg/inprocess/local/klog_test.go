package local

import "testing"

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
