package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// asProgram is an environment variable. If it is set, the test's binary runs as miniapi.
const asProgram = "MINIAPI_TEST_AS_PROGRAM"

// builtProgram is an environment variable with the command of a miniapi for another system, such as "wine miniapi.exe".
// If it is set, the tests run the command in place of this binary.
const builtProgram = "MINIAPI_TEST_PROGRAM"

// deadline limits the waits for processes. A wait of a test that passes takes much less time.
const deadline = 3 * time.Minute

// programs is a folder with links to this binary, one for each name of the program.
var programs string

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == containerInit {
		os.Exit(run(os.Args))
	}
	if len(os.Args) > 1 && os.Args[1] == podProgram {
		os.Exit(servePod(os.Args[2:]))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	binary, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if programs, err = os.MkdirTemp("", "miniapi-cmd-test-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(programs) }()
	for _, name := range []string{"miniapi", "kube-apiserver", "etcd"} {
		if err := os.Symlink(binary, filepath.Join(programs, name)); err != nil {
			panic(err)
		}
	}
	if command := os.Getenv(builtProgram); command != "" {
		link := filepath.Join(programs, "miniapi")
		if err := errors.Join(os.Remove(link), os.WriteFile(link, []byte("#!/bin/sh\nexec "+command+" \"$@\"\n"), 0o700)); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	lines  chan string
	stderr bytes.Buffer
	done   chan struct{}
}

// start starts the program by one of its names, in a new working folder.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, name), args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return startCommand(t, cmd)
}

// startCommand starts a command in a new working folder. The process keeps the command's standard error, unless
// cmd.Stderr is set.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, lines: make(chan string, 1000), done: make(chan struct{})}
	p.cmd.Dir = t.TempDir()
	if p.cmd.Stderr == nil {
		p.cmd.Stderr = &p.stderr
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.wait(stdout)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		p.rest()
	})
	return p
}

func (p *process) wait(stdout io.Reader) {
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		p.lines <- scanner.Text()
	}
	close(p.lines)
	_ = p.cmd.Wait()
	close(p.done)
}

// rest waits for the end of the program, and returns the lines of standard output that the test hasn't read.
func (p *process) rest() []string {
	var lines []string
	for line := range p.lines {
		lines = append(lines, line)
	}
	<-p.done
	return lines
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// exit waits for the end of the program, and returns the exit code, the lines of standard output that the test hasn't
// read, and standard error. If the program still runs at the deadline, the test fails.
func (p *process) exit(t *testing.T) (code int, stdout, stderr string) {
	t.Helper()
	// The program can't end while a line waits for a reader, so read the remaining lines.
	ended := make(chan []string, 1)
	go func() { ended <- p.rest() }()
	select {
	case lines := <-ended:
		return p.cmd.ProcessState.ExitCode(), strings.Join(lines, "\n"), p.stderr.String()
	case <-time.After(deadline):
		p.signal(t, syscall.SIGQUIT)
		<-ended
		t.Fatalf("%s still runs:\n%s", p.cmd, p.stderr.String())
		return 0, "", ""
	}
}

var readyLine = regexp.MustCompile(`^miniapi is ready on (https://\S+): (?:export KUBECONFIG=|\$env:KUBECONFIG = '[A-Z]:)(\S+?)'?$`)

// serve runs "miniapi serve" on a free port, and returns when the server is ready, with a client configuration.
func serve(t *testing.T, args ...string) (*process, *rest.Config) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	p := start(t, "miniapi", append([]string{"serve", "--secure-port=0", "--write-kubeconfig=" + kubeconfig}, args...)...)
	select {
	case line, running := <-p.lines:
		if !running {
			<-p.done
			t.Fatalf("%s ended: %s", p.cmd, p.stderr.String())
		}
		if match := readyLine.FindStringSubmatch(line); match == nil || strings.ReplaceAll(match[2], `\`, "/") != kubeconfig {
			t.Fatalf("the first line is %q", line)
		}
	case <-time.After(deadline):
		t.Fatalf("%s isn't ready", p.cmd)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return p, config
}

// When the server is ready, "miniapi serve" prints a line with a shell command. The command has quotes around a path
// that needs them, so a user can paste the command into a shell.
func TestReadyLineIsQuoted(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "my kubeconfig")
	p := start(t, "miniapi", "serve", "--secure-port=0", "--write-kubeconfig="+kubeconfig)
	if line := <-p.lines; !strings.HasSuffix(line, ": export KUBECONFIG='"+kubeconfig+"'") {
		t.Errorf("want the path in quotes, got %q", line)
	}
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
}

// When the server is ready, "miniapi serve" prints a line with the path of the kubeconfig. The path is absolute, so
// that it works in any folder.
func TestReadyLineHasAbsolutePath(t *testing.T) {
	t.Parallel()
	p := start(t, "miniapi", "serve", "--secure-port=0")
	folder, err := filepath.EvalSymlinks(p.cmd.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if line, want := <-p.lines, ": export KUBECONFIG="+filepath.Join(folder, "miniapi.kubeconfig"); !strings.HasSuffix(line, want) {
		t.Errorf("want the line to end in %q, got %q", want, line)
	}
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
}

// If the kubeconfig can't be written, the program ends before it creates any other file.
func TestNoFolderForKubeconfigStartsNothing(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	kubeconfig := filepath.Join(t.TempDir(), "missing", "kubeconfig")
	code, _, stderr := start(t, "miniapi", "serve", "--secure-port=0", "--data-dir="+data, "--write-kubeconfig="+kubeconfig).exit(t)
	if want := "--write-kubeconfig " + kubeconfig + ": folder "; code != cli.ExitUsage || !strings.Contains(stderr, want) {
		t.Errorf("want %d and %q, got %d and %q", cli.ExitUsage, want, code, stderr)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want no data folder, got %v", err)
	}
}

// The kubeconfig is a new file that only its owner can read, because it has the admin's key. A link that has the name is
// replaced, and its target gets nothing.
func TestKubeconfigIsForItsOwner(t *testing.T) {
	t.Parallel()
	target := file(t, "target", "theirs")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.Symlink(target, kubeconfig); err != nil {
		t.Fatal(err)
	}
	p := start(t, "miniapi", "serve", "--secure-port=0", "--write-kubeconfig="+kubeconfig)
	<-p.lines
	if info, err := os.Lstat(kubeconfig); err != nil || info.Size() == 0 || info.Mode() != 0o600 {
		t.Errorf("want a regular file for its owner alone, got %v, %v", info, err)
	}
	if content, err := os.ReadFile(target); err != nil || string(content) != "theirs" {
		t.Errorf("want the target of the link to stay as it was, got %q, %v", content, err)
	}
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
}

// The certificates in the kubeconfig are authorities, as controllers require that publish them.
func TestKubeconfigHasAuthorities(t *testing.T) {
	t.Parallel()
	_, config := serve(t)
	certificates, err := certutil.ParseCertsPEM(config.CAData)
	if err != nil {
		t.Fatal(err)
	}
	for _, certificate := range certificates {
		if !certificate.IsCA {
			t.Errorf("the certificate of %s is no authority", certificate.Subject)
		}
	}
}

// A second server doesn't take the kubeconfig of a server that runs. It takes the kubeconfig of a server that was killed.
func TestKubeconfigOfRunningServer(t *testing.T) {
	t.Parallel()
	first, config := serve(t)
	kubeconfig := first.kubeconfig(t)
	code, _, stderr := start(t, "miniapi", "serve", "--secure-port=0", "--write-kubeconfig="+kubeconfig).exit(t)
	if want := "--write-kubeconfig " + kubeconfig + ": is the kubeconfig of the server at " + config.Host + ", which runs: "; code != cli.ExitFailed || !strings.Contains(stderr, want) {
		t.Errorf("want %d and %q, got %d and %q", cli.ExitFailed, want, code, stderr)
	}
	first.signal(t, syscall.SIGKILL)
	first.exit(t)
	second := start(t, "miniapi", "serve", "--secure-port=0", "--write-kubeconfig="+kubeconfig)
	if line := <-second.lines; !readyLine.MatchString(line) {
		t.Errorf("want the server to be ready, got %q", line)
	}
	second.signal(t, syscall.SIGTERM)
	second.exit(t)
}

// If the start fails, the program writes no kubeconfig. An existing kubeconfig of another server stays unchanged.
func TestFailedApplyWritesNoKubeconfig(t *testing.T) {
	t.Parallel()
	refused := file(t, "refused.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n")
	for _, test := range []struct{ name, reason, before string }{
		{"none", "no server has written a kubeconfig", ""},
		{"another", "another server may need its kubeconfig", "current-context: theirs\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			if test.before != "" {
				kubeconfig = file(t, "kubeconfig", "%s", test.before)
			}
			if code, _, stderr := start(t, "miniapi", "serve", "--secure-port=0", "--write-kubeconfig="+kubeconfig, "--apply="+refused).exit(t); code != cli.ExitFailed {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			after, err := os.ReadFile(kubeconfig)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if string(after) != test.before {
				t.Errorf("want %q, because %s, got %q", test.before, test.reason, after)
			}
		})
	}
}

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// file writes a file of the test and returns its path.
func file(t *testing.T, name, format string, args ...any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
