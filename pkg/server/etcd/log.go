package etcd

import (
	"bytes"
	"context"
	"io"

	"github.com/go-logr/logr"
)

// log returns a writer that passes etcd's errors to the logger of the context. Without a logger, it returns nil.
func log(ctx context.Context) io.Writer {
	logger, err := logr.FromContext(ctx)
	if err != nil {
		return nil // with a nil writer, etcd's errors are dropped
	}
	return logWriter{logger.WithName("etcd")}
}

type logWriter struct{ logger logr.Logger }

// Write implements io.Writer.
func (w logWriter) Write(line []byte) (int, error) {
	w.logger.Error(nil, string(bytes.TrimSpace(line)))
	return len(line), nil
}
