package main

import (
	"fmt"
	"io"

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
