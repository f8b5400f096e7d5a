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

// processKlog is the klogTap of the process. It is a package variable because klog has one output for the whole
// process.
var processKlog = &klogTap{stderr: os.Stderr, logs: map[*log]struct{}{}}

// klogTap is the output of klog, unless the process sets another output. Entries that a server's packages write go to
// the logs of the running servers. All other entries, and warnings and errors while no server runs, go to standard
// error.
type klogTap struct {
	stderr io.Writer
	once   sync.Once

	mu   sync.Mutex
	logs map[*log]struct{}
}

// attach adds the log of a starting server. The log also gets the entries of other servers, because an entry of klog
// doesn't name the server that writes the entry.
func (k *klogTap) attach(l *log) {
	k.once.Do(k.replaceStderr)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[l] = struct{}{}
}

// detach removes a log that attach has added.
func (k *klogTap) detach(l *log) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.logs, l)
}

// replaceStderr sets klog's output to k if the output is standard error. The process can still set another output
// later.
func (k *klogTap) replaceStderr() {
	settings := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(settings)
	if settings.Lookup("logtostderr").Value.String() != "true" {
		return
	}
	// klog writes an entry to the output of its severity and to the outputs of all lower severities. So k gets every
	// entry as the output of the lowest severity.
	for severity, to := range map[string]io.Writer{"INFO": k, "WARNING": io.Discard, "ERROR": io.Discard, "FATAL": io.Discard} {
		klog.SetOutputBySeverity(severity, to)
	}
	// By default, klog also writes errors to standard error. Set fails only for unknown flags and severities.
	_ = settings.Set("stderrthreshold", "FATAL")
	klog.LogToStderr(false)
}

// Write passes one entry of klog to the logs of the running servers, or to standard error. It drops what the goroutines
// of the last server, which k8s.io/apiserver doesn't wait for, inform of after the server has ended.
func (k *klogTap) Write(entry []byte) (int, error) {
	k.mu.Lock()
	logs := slices.Collect(maps.Keys(k.logs))
	k.mu.Unlock()
	info := len(entry) > 0 && entry[0] == 'I'
	if !byServer() || len(logs) == 0 && !info {
		return k.stderr.Write(entry)
	}
	line := strings.TrimSuffix(string(entry), "\n")
	for _, l := range logs {
		l.add(line)
	}
	return len(entry), nil
}

var (
	// serving are the packages that make up a server. If a client uses one of these packages, such as client-go, the
	// client's entries also count as entries of a server. Of pkg/runtimehooks, the list has only the parts that call
	// extensions: an extension isn't a part of a server.
	serving = []string{
		"github.com/miniapi-dev/miniapi/pkg/admission", "github.com/miniapi-dev/miniapi/pkg/controllers",
		"github.com/miniapi-dev/miniapi/pkg/inprocess/",
		"github.com/miniapi-dev/miniapi/pkg/registry", "github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient",
		"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extensionconfig", "github.com/miniapi-dev/miniapi/pkg/server",
		"github.com/miniapi-dev/miniapi/pkg/storage", "go.etcd.io/", "google.golang.org/grpc",
		"k8s.io/apiextensions-apiserver/", "k8s.io/apimachinery/", "k8s.io/apiserver/", "k8s.io/client-go/", "k8s.io/component-base/",
		"k8s.io/kube-aggregator/", "k8s.io/kube-openapi/",
	}
	// logging are the packages that the packages in serving call to write log entries.
	logging = []string{
		"github.com/go-logr/", "k8s.io/apimachinery/pkg/util/runtime.", "k8s.io/klog/",
		"github.com/miniapi-dev/miniapi/pkg/inprocess/local.(*klogTap)",
	}
)

// byServer reports whether a package in serving writes the current entry of klog. It reads the call stack.
func byServer() bool {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if !isOf(logging, frame.Function) {
			return isOf(serving, frame.Function)
		}
	}
	return false
}

// isOf reports whether the function is of one of the packages.
func isOf(packages []string, function string) bool {
	return slices.ContainsFunc(packages, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}
