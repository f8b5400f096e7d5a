package miniapitest

import (
	"flag" //nolint:depguard // klog's settings are Go flags
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/klog/v2"
)

// processKlog gives the logs of the servers that run what Kubernetes' libraries log by klog, in place of standard
// error. It is a variable of the package because klog is one of the process.
var processKlog = &klogTap{logs: map[*serverLog]struct{}{}}

// klogTap is klog's output, unless the process has set one. What isn't logged by the server's libraries, or while no
// server runs, goes to standard error as before.
type klogTap struct {
	once sync.Once

	mu   sync.Mutex
	logs map[*serverLog]struct{}
}

// attach adds the log of a server that starts. It is told of what other servers log, too: klog doesn't tell them apart.
func (k *klogTap) attach(l *serverLog) {
	k.once.Do(k.replaceStderr)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[l] = struct{}{}
}

// detach takes off the log of a server that has stopped.
func (k *klogTap) detach(l *serverLog) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.logs, l)
}

// replaceStderr makes it klog's output, if that is standard error. Later settings of the process replace it.
func (k *klogTap) replaceStderr() {
	settings := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(settings)
	if settings.Lookup("logtostderr").Value.String() != "true" {
		return
	}
	// An entry goes to the outputs of its severity and of all below it.
	for severity, to := range map[string]io.Writer{"INFO": k, "WARNING": io.Discard, "ERROR": io.Discard, "FATAL": io.Discard} {
		klog.SetOutputBySeverity(severity, to)
	}
	// Errors would go to standard error all the same. FATAL is a value of the flag: the error can't occur.
	_ = settings.Set("stderrthreshold", "FATAL")
	klog.LogToStderr(false)
}

// Write takes one entry.
func (k *klogTap) Write(entry []byte) (int, error) {
	k.mu.Lock()
	logs := slices.Collect(maps.Keys(k.logs))
	k.mu.Unlock()
	if len(logs) == 0 || !byServer() {
		return os.Stderr.Write(entry)
	}
	line := strings.TrimSuffix(string(entry), "\n")
	for _, l := range logs {
		l.add(line)
	}
	return len(entry), nil
}

var (
	// serving are the packages that servers are made of, but also clients.
	serving = []string{
		"github.com/miniapi-dev/miniapi/pkg/admission", "github.com/miniapi-dev/miniapi/pkg/miniapitest.", "github.com/miniapi-dev/miniapi/pkg/registry",
		"github.com/miniapi-dev/miniapi/pkg/server", "github.com/miniapi-dev/miniapi/pkg/storage", "go.etcd.io/", "google.golang.org/grpc",
		"k8s.io/apiextensions-apiserver/", "k8s.io/apimachinery/", "k8s.io/apiserver/", "k8s.io/client-go/", "k8s.io/component-base/",
		"k8s.io/kube-aggregator/", "k8s.io/kube-openapi/",
	}
	// logging are those by which they log.
	logging = []string{
		"github.com/go-logr/", "k8s.io/apimachinery/pkg/util/runtime.", "k8s.io/klog/", "github.com/miniapi-dev/miniapi/pkg/miniapitest.(*klogTap)",
	}
)

// byServer says whether what is being logged is logged by a package of the server.
func byServer() bool {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		begins := func(prefix string) bool { return strings.HasPrefix(frame.Function, prefix) }
		if !slices.ContainsFunc(logging, begins) {
			return slices.ContainsFunc(serving, begins)
		}
	}
	return false
}
