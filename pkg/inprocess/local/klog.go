package local

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

// processKlog passes klog's output to the logs of the running servers, in place of standard error. It is a variable of
// the package because klog has one output for the process.
var processKlog = &klogTap{logs: map[*log]struct{}{}}

// klogTap is klog's output, unless the process has set another. Entries of other packages than the server's, and
// entries while no server runs, go to standard error as before.
type klogTap struct {
	once sync.Once

	mu   sync.Mutex
	logs map[*log]struct{}
}

// attach adds the log of a server that starts. The log also gets the entries of other servers: klog can't tell servers
// apart.
func (k *klogTap) attach(l *log) {
	k.once.Do(k.replaceStderr)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[l] = struct{}{}
}

// detach removes the log of a server that has stopped.
func (k *klogTap) detach(l *log) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.logs, l)
}

// replaceStderr makes k klog's output, if klog's output is standard error. The process can set another output later.
func (k *klogTap) replaceStderr() {
	settings := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(settings)
	if settings.Lookup("logtostderr").Value.String() != "true" {
		return
	}
	// klog writes an entry to the outputs of its severity and of all lower ones.
	for severity, to := range map[string]io.Writer{"INFO": k, "WARNING": io.Discard, "ERROR": io.Discard, "FATAL": io.Discard} {
		klog.SetOutputBySeverity(severity, to)
	}
	// Otherwise errors go to standard error too. Set fails for unknown flags and severities alone.
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
	// serving are the packages of a server. Clients use some of them too.
	serving = []string{
		"github.com/miniapi-dev/miniapi/pkg/admission", "github.com/miniapi-dev/miniapi/pkg/inprocess/", "github.com/miniapi-dev/miniapi/pkg/registry",
		"github.com/miniapi-dev/miniapi/pkg/server", "github.com/miniapi-dev/miniapi/pkg/storage", "go.etcd.io/", "google.golang.org/grpc",
		"k8s.io/apiextensions-apiserver/", "k8s.io/apimachinery/", "k8s.io/apiserver/", "k8s.io/client-go/", "k8s.io/component-base/",
		"k8s.io/kube-aggregator/", "k8s.io/kube-openapi/",
	}
	// logging are the packages through which they log.
	logging = []string{
		"github.com/go-logr/", "k8s.io/apimachinery/pkg/util/runtime.", "k8s.io/klog/", "github.com/miniapi-dev/miniapi/pkg/inprocess/local.(*klogTap)",
	}
)

// byServer reports whether a package of the server wrote the current entry.
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
