package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An extension in another language than Go is discovered and called.
func TestExtensionInPython(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own := must(newAuthority())(t)
	serving := own.issue(t, "localhost", "localhost")
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	ok(t, os.WriteFile(certFile, serving.cert, 0o600))
	ok(t, os.WriteFile(keyFile, serving.key, 0o600))
	extension := exec.CommandContext(t.Context(), "python3", "testdata/extension.py", certFile, keyFile)
	extension.Stderr = t.Output()
	output := must(extension.StdoutPipe())(t)
	ok(t, extension.Start())
	t.Cleanup(func() { _ = extension.Wait() }) // the end of the test's context kills the process
	var port int
	must(fmt.Fscanln(output, &port))(t)

	registerExtension(t, srv, "python", own.pem, port)
	result := awaitAnswers(t, srv, "quota.python")
	if got, want := string(result.Response), `{"status":"Success","message":"hello c","retryAfterSeconds":7}`; got != want {
		t.Errorf("the response is %s, want %s", got, want)
	}
}
