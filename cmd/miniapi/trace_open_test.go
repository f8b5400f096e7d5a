package main

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// openWith runs "miniapi trace --open" with a folder of programs as its PATH. It returns the exit code, and the outputs.
func openWith(t *testing.T, path, kubeconfig string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "miniapi"), "trace", "--open", "--kubeconfig="+kubeconfig)
	cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+path, "XDG_CACHE_HOME="+filepath.Join(path, "cache"))
	return startCommand(t, cmd).exit(t)
}

// visitor returns an HTTP client without credentials. It accepts the server's certificate and follows no redirects.
func visitor() *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} // a user accepts the certificate in the browser
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// status sends a GET request, and returns the status and the cookies of the response.
func status(t *testing.T, client *http.Client, url string, cookies ...*http.Cookie) (int, []*http.Cookie) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range cookies {
		req.AddCookie(cookie)
	}
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Cookies()
}

// "miniapi trace --open" starts the program that opens links, with a file as its argument that only the user can read, and
// that leads to a link. The link signs a browser in once. A server that records no requests also serves the page behind the link. The logs of the server don't contain
// the token in the link.
func TestTraceOpen(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.log")
	policy := file(t, "policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
	server, config := serve(t, "--log-requests", "--audit-policy-file="+policy, "--audit-log-path="+audit)
	programs, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" > '" + opened + "'\n"
	if err := os.WriteFile(filepath.Join(programs, linkOpener(runtime.GOOS)[0]), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := openWith(t, programs, server.kubeconfig(t))
	link, rest, _ := strings.Cut(stdout, "\n")
	if code != 0 || stderr != "" || !strings.HasPrefix(link, config.Host+admissiontrace.SignInPath+"?token=") || rest != "The link works once, within 60 seconds." {
		t.Fatalf("want a link, got %d, %q and %q", code, stdout, stderr)
	}
	argument, err := os.ReadFile(opened)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(string(argument))
	if err != nil || !strings.Contains(string(page), `content="0; url=`+link+`"`) {
		t.Errorf("want the program to open a file that leads to %s, got %s: %s, %v", link, argument, page, err)
	}
	for path, mode := range map[string]os.FileMode{string(argument): 0o600, filepath.Dir(string(argument)): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("want %s with the mode %o, got %v, %v", path, mode, info.Mode(), err)
		}
	}
	browser := visitor()
	code, cookies := status(t, browser, link)
	if code != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("want an answer with a cookie, got %d with %v", code, cookies)
	}
	if code, _ := status(t, browser, config.Host+admissiontrace.Prefix, cookies...); code != http.StatusOK {
		t.Errorf("want the page, got %d", code)
	}
	if code, _ := status(t, browser, link); code != http.StatusUnauthorized {
		t.Errorf("want the link to work once, got %d", code)
	}
	_, second, _ := openWith(t, programs, server.kubeconfig(t))
	if strings.HasPrefix(second, link) {
		t.Errorf("want another link, got %s", second)
	}
	server.signal(t, os.Interrupt)
	_, stdout, stderr = server.exit(t)
	events, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	if signedIn := admissiontrace.SignInPath + " system:admin "; !strings.Contains(stderr, signedIn+"Go-http-client") {
		t.Errorf("want %q with the program of the browser in the log of requests, got %s", signedIn, stderr)
	}
	for log, content := range map[string]string{"requests": stdout + stderr, "audit": string(events)} {
		_, token, _ := strings.Cut(link, "token=")
		if !strings.Contains(content, admissiontrace.SignInPath) || strings.Contains(content, token) {
			t.Errorf("want the sign-in without its secret in the log %s, got %s", log, content)
		}
	}
}

// If no program can open the link, the command prints the link, and a sentence which says that the user must open it.
func TestTraceOpenWithoutBrowser(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	failing := t.TempDir()
	if err := os.WriteFile(filepath.Join(failing, linkOpener(runtime.GOOS)[0]), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, path, want string }{
		{"no program", t.TempDir(), "executable file not found in $PATH): open it in a browser."},
		{"no display", failing, " can't open the link (exit status 3): open it in a browser."},
	} {
		code, stdout, _ := openWith(t, test.path, server.kubeconfig(t))
		link, _, _ := strings.Cut(stdout, "\n")
		if code != 0 || !strings.Contains(stdout, test.want) {
			t.Errorf("%s: want exit code 0 and %q, got %d and %q", test.name, test.want, code, stdout)
		}
		if code, _ := status(t, visitor(), link); code != http.StatusOK {
			t.Errorf("%s: want a link that works, got %d for %s", test.name, code, link)
		}
	}
}

// The command fails if the user lacks the permission for sign-in links, if the server isn't miniapi, and if no server
// runs.
func TestTraceOpenRefused(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	kubeconfig, err := clientcmd.LoadFromFile(server.kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range kubeconfig.AuthInfos {
		info.Impersonate = "jane"
	}
	asJane := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, asJane); err != nil {
		t.Fatal(err)
	}
	another := httptest.NewServer(http.NotFoundHandler())
	defer another.Close()
	of := func(server string) string {
		return file(t, "kubeconfig", "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '%s'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server)
	}
	for _, test := range []struct{ name, kubeconfig, want string }{
		{"permission", asJane, `User "jane" cannot post path "/debug/admission/sign-in"`},
		{"another server", of(another.URL), "has no trace: the server isn't miniapi, or is an older version"},
		{"no server", of("https://127.0.0.1:1"), "connection refused"},
	} {
		code, stdout, stderr := openWith(t, t.TempDir(), test.kubeconfig)
		if code != 1 || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: want exit code 1, no link and %q, got %d, %q and %q", test.name, test.want, code, stdout, stderr)
		}
	}
}
