package etcd

import (
	"bytes"
	"context"
	"io"

	"github.com/go-logr/logr"
)

// log passes etcd's errors on to the logger that the context was given, if any.
func log(ctx context.Context) io.Writer {
	logger, err := logr.FromContext(ctx)
	if err != nil {
		return nil // without one, they are dropped
	}
	return logWriter{logger.WithName("etcd")}
}

type logWriter struct{ logger logr.Logger }

// Write implements io.Writer.
func (w logWriter) Write(line []byte) (int, error) {
	w.logger.Info(string(bytes.TrimSpace(line)))
	return len(line), nil
}
