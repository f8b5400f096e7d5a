// Package logging sets up the log of a process that serves: the flags --logging-format, --log-*, -v and --vmodule, a log
// without information that only developers of the server need, and one line per request. A library logs with klog.
package logging

import (
	"fmt"
	"io"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// Apply sends the log of this process to a writer.
func Apply(o *logs.Options, to io.Writer) error {
	err := logsapi.ValidateAndApplyWithOptions(o, &logsapi.LoggingOptions{ErrorStream: to, InfoStream: to}, utilfeature.DefaultFeatureGate)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--logging-format, --log-*: %w", err)}
	}
	return nil
}

// Verbose reports whether the flags ask for more than warnings and errors.
func Verbose(o *logs.Options) bool {
	return o.Verbosity > 0 || len(o.VModule) > 0 || o.Format != logsapi.DefaultLogFormat
}
