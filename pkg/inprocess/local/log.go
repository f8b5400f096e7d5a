package local

import (
	"context"
	"strings"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// log is the log of one server. It gets the entries of the logger in the server's context. It also gets the klog
// entries of all servers in the process.
type log struct{ add func(line string) }

// context returns a context with the logger of the server.
func (l *log) context(ctx context.Context) context.Context {
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(l))))
}

// Write adds one entry to the log.
func (l *log) Write(entry []byte) (int, error) {
	l.add(strings.TrimSuffix(string(entry), "\n"))
	return len(entry), nil
}
