package main

import (
	"fmt"
	"io"
	"sync/atomic"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
)

// applyLogs sets up this process's logging, to a writer.
func applyLogs(o *logs.Options, to io.Writer) error {
	err := logsapi.ValidateAndApplyWithOptions(o, &logsapi.LoggingOptions{ErrorStream: to, InfoStream: to}, utilfeature.DefaultFeatureGate)
	if err != nil {
		return usageError{fmt.Errorf("--logging-format, --log-*: %w", err)}
	}
	return nil
}

// verbose says whether more is to be logged than a user needs.
func verbose(o *logs.Options) bool {
	return o.Verbosity > 0 || len(o.VModule) > 0 || o.Format != logsapi.DefaultLogFormat
}

// quietLog passes on warnings and errors while it is open. Before a server is ready,
// and when it is told to stop, what matters is the error that the command ends with.
type quietLog struct {
	to     io.Writer
	opened atomic.Bool
}

func (l *quietLog) open()  { l.opened.Store(true) }
func (l *quietLog) close() { l.opened.Store(false) }

// Write takes one entry, which begins with the letter of its severity.
func (l *quietLog) Write(entry []byte) (int, error) {
	if l.opened.Load() && len(entry) > 0 && entry[0] != 'I' {
		return l.to.Write(entry)
	}
	return len(entry), nil
}
