package local

import (
	"context"
	"strings"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// log passes on the log of one server: the entries logged by the logger of its context, and those logged by klog, which
// all servers of the process share.
type log struct{ add func(line string) }

// context returns a context with the server's logger.
func (l *log) context(ctx context.Context) context.Context {
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(l))))
}

// Write takes one entry.
func (l *log) Write(entry []byte) (int, error) {
	l.add(strings.TrimSuffix(string(entry), "\n"))
	return len(entry), nil
}
