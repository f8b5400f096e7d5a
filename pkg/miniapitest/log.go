package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// logLines is how much of a server's log is kept: the end, which says why.
const logLines = 100

// serverLog is what one server logs: what is logged by the context that it was given.
// Code that logs without a context does so by klog's own logger, which is of the process
// and stays as it is.
type serverLog struct {
	mu    sync.Mutex
	lines []string
}

// context gives the server its logger.
func (l *serverLog) context(ctx context.Context) context.Context {
	logger := funcr.New(func(prefix, args string) { l.add(strings.TrimSpace(prefix + " " + args)) }, funcr.Options{LogTimestamp: true})
	return klog.NewContext(ctx, logger)
}

func (l *serverLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == logLines {
		l.lines = slices.Delete(l.lines, 0, 1)
	}
	l.lines = append(l.lines, line)
}

// explain adds the log to the error of a start.
func (l *serverLog) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return err
	}
	return errors.Join(err, fmt.Errorf("the server's log:\n%s", strings.Join(l.lines, "\n")))
}
