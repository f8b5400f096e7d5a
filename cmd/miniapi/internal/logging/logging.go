// Package logging sets up the log of a process that runs a server, by the flags --logging-format, --log-*, -v and
// --vmodule. It drops entries that don't matter to users of the server, and can log a line for each request. Libraries
// don't use the package: they log by klog.
package logging

import (
	"fmt"
	"io"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // for --logging-format=json

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// Apply sends the log of the process to a writer, by the settings of the flags.
func Apply(o *logs.Options, to io.Writer) error {
	err := logsapi.ValidateAndApplyWithOptions(o, &logsapi.LoggingOptions{ErrorStream: to, InfoStream: to}, utilfeature.DefaultFeatureGate)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("the flags of logging, such as --logging-format (text or json): %w", err)}
	}
	return nil
}

// Verbose reports whether the flags set a verbosity (-v, --vmodule) or a log format other than text.
func Verbose(o *logs.Options) bool {
	return o.Verbosity > 0 || len(o.VModule) > 0 || o.Format != logsapi.DefaultLogFormat
}
