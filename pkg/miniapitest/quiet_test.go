package miniapitest_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// asUser tells a child process which test of a user to run.
const asUser = "MINIAPITEST_AS_USER"

// usersTests are tests of a user, with a server and log entries of their own code.
var usersTests = map[string]func(*testing.T){
	"passes": func(t *testing.T) { use(t, miniapitest.Start(t)) },
	"fails": func(t *testing.T) {
		use(t, miniapitest.Start(t))
		t.Error("not as wanted")
	},
	"passes with the log": func(t *testing.T) { use(t, miniapitest.Start(t, miniapitest.WithLog(t.Output()))) },
	"fails with the log": func(t *testing.T) {
		use(t, miniapitest.Start(t, miniapitest.WithLog(t.Output())))
		t.Error("not as wanted")
	},
	"logs by klog": func(t *testing.T) {
		klog.Info("before the server")
		srv := miniapitest.Start(t)
		klog.Info("beside the server")
		klog.FromContext(t.Context()).Error(nil, "an error beside the server")
		if err := srv.Stop(); err != nil {
			t.Error(err)
		}
		klog.Info("after the server")
	},
	"has its own klog": func(t *testing.T) {
		klog.LogToStderr(false)
		klog.SetOutputBySeverity("INFO", prefixed{os.Stdout})
		use(t, miniapitest.Start(t))
	},
	"uses Main": func(t *testing.T) {
		var srv *miniapitest.Server
		if code := miniapitest.Main(runs(func() int { return 1 }), &srv); code != 1 {
			t.Errorf("want 1, got %d", code)
		}
	},
	"ends without Stop": func(t *testing.T) {
		srv, err := miniapitest.New(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		use(t, srv)
		fmt.Println("used", srv.KubeconfigFile())
		os.Exit(0) // as after a suite
	},
	"is killed": func(t *testing.T) {
		gates := miniapitest.WithFeatureGates(map[string]bool{"CBORServingAndStorage": true})
		for i := range 1000 { // until another test kills the process
			t.Run("server", func(t *testing.T) {
				var options []miniapitest.Option
				if i%3 == 1 {
					options = append(options, gates)
				}
				srv := miniapitest.Start(t, options...)
				use(t, srv)
				if err := srv.Reset(); err != nil {
					t.Error(err)
				}
			})
		}
	},
	"loses the server": func(t *testing.T) {
		func() {
			srv, err := miniapitest.New(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			use(t, srv)
		}()
		for range time.Tick(time.Millisecond) { // until the other test has read enough
			runtime.GC()
		}
	},
}

// prefixed marks the lines that are written to it.
type prefixed struct{ io.Writer }

func (p prefixed) Write(b []byte) (int, error) {
	_, err := fmt.Fprintf(p.Writer, "mine: %s", b)
	return len(b), err
}

func use(t *testing.T, srv *miniapitest.Server) {
	t.Helper()
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestAsUser runs a user's test in a child process of another test.
func TestAsUser(t *testing.T) {
	if test := usersTests[os.Getenv(asUser)]; test != nil {
		test(t)
	}
}

// runAsUser runs a user's test in a child process, until the output contains a text or the process ends. It returns the
// output.
func runAsUser(t *testing.T, test, temporary, until string, args ...string) string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], append(args, "-test.run=^TestAsUser$")...)
	child.Env = append(os.Environ(), asUser+"="+test, "TMPDIR="+temporary)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	child.Stdout, child.Stderr = write, write
	err = child.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := read.Read(buffer)
		output.Write(buffer[:n])
		if until != "" && strings.Contains(output.String(), until) {
			_ = child.Process.Kill()
			break
		}
		if err != nil {
			break
		}
	}
	_ = child.Wait() // one of the tests fails
	return output.String()
}

// The server's log isn't mixed with a test's output. It follows the output of a test that fails, and comes at once with
// WithLog.
func TestLogIsQuiet(t *testing.T) {
	t.Parallel()
	const (
		header = "the server's log:"
		served = "Serving securely on"
	)
	type userTest struct {
		name, reason string
		test         string
		args         []string
		want, not    []string
	}
	ownKlog := userTest{"own klog", "the server's log isn't the process's", "has its own klog", nil, nil, []string{"mine: I", header}}
	if over(inProcess) {
		ownKlog = userTest{"own klog", "the process has said where the log goes", "has its own klog", nil, []string{"mine: I"}, []string{header}}
	}
	for _, test := range []userTest{
		{"passes", "a test that passes shows no log", "passes", []string{"-test.v"}, nil, []string{header, served, "Adding GroupVersion"}},
		{"fails", "it may tell why", "fails", nil, []string{"not as wanted", header, served}, nil},
		{"option and -v", "the option writes the whole log", "passes with the log", []string{"-test.v"}, []string{served}, []string{header}},
		{"option", "the test passes", "passes with the log", nil, nil, []string{served}},
		{"fails with the option", "once is enough", "fails with the log", nil, []string{"not as wanted", served}, []string{header}},
		{
			"own log", "what the test's code logs isn't the server's", "logs by klog", nil,
			[]string{"before the server", "] beside the server", "an error beside the server", "after the server"}, []string{served},
		},
		{"Main", "a test has failed", "uses Main", nil, []string{header, served}, nil},
		ownKlog,
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			output := runAsUser(t, test.test, t.TempDir(), "", test.args...)
			for _, want := range test.want {
				if !strings.Contains(output, want) {
					t.Errorf("%s: want %q, got:\n%s", test.reason, want, output)
				}
			}
			for _, not := range test.not {
				if strings.Contains(output, not) {
					t.Errorf("%s: want no %q, got:\n%s", test.reason, not, output)
				}
			}
		})
	}
}

// A server of New that isn't stopped is reported: in its process when nothing refers to it, otherwise by the next
// process.
func TestUnstoppedIsReported(t *testing.T) {
	t.Parallel()
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		const want = "miniapitest: nothing refers any more to the server that New started at "
		output := runAsUser(t, "loses the server", t.TempDir(), "call Stop", "-test.timeout=1m")
		if !strings.Contains(output, want) || !strings.Contains(output, "quiet_test.go:") {
			t.Errorf("want %q and where, got:\n%s", want, output)
		}
	})
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		temporary := t.TempDir()
		if output := runAsUser(t, "ends without Stop", temporary, ""); !strings.Contains(output, "used "+temporary) {
			t.Fatalf("want a server, got:\n%s", output)
		}
		const want = "was not stopped: call Stop"
		if output := runAsUser(t, "passes", temporary, ""); strings.Count(output, want) != 1 || !strings.Contains(output, "quiet_test.go:") {
			t.Errorf("want %q and where once, got:\n%s", want, output)
		}
		if output := runAsUser(t, "passes", temporary, ""); strings.Contains(output, want) {
			t.Errorf("want it to be reported once, got:\n%s", output)
		}
	})
}
