// Package launch has the common parts of "miniapi serve" and "miniapi kube-apiserver": the flags, the log, signals, the
// metrics of the process, and the run of one server from flags to exit. Don't use the package to run a server in a Go
// program: pkg/server is for that.
package launch

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/server/flagz"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/complete"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeonly"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/logging"
	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Options are the values of the flags.
type Options struct {
	Server *server.Options

	logs *logs.Options
	// logFormat is the flag --logging-format.
	logFormat *pflag.Flag
	kubeOnly  kubeonly.Given
	version   versionFlag
	// logRequests is the value of --log-requests: if it is true, the log has a line for each request.
	logRequests bool
}

// NewOptions returns the defaults of the flags.
func NewOptions(options *server.Options) *Options {
	return &Options{Server: options, logs: logs.NewOptions()}
}

// AddFlags adds flags to the command: the command's own flags, the flags of the server and of the log, --version, and
// the hidden flags of kube-apiserver that have no effect. The result has the sections of the help text.
func (o *Options) AddFlags(cmd *cobra.Command, own *pflag.FlagSet) cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	sections.FlagSet(server.OwnFlags).AddFlagSet(own)
	sections.FlagSet(server.OwnFlags).BoolVar(&o.logRequests, "log-requests", false, "Write a line for each request to standard error, when it is answered.")
	o.Server.AddFlags(&sections)
	logsapi.AddFlags(o.logs, sections.FlagSet("logs"))
	sections.FlagSet("global").VarPF(&o.version, "version", "", "Print the version and exit; raw for all of it.").NoOptDefVal = "true"
	for _, fs := range sections.FlagSets {
		cmd.Flags().AddFlagSet(fs)
	}
	o.logFormat = cmd.Flags().Lookup("logging-format")
	o.kubeOnly.AddFlags(cmd.Flags())
	o.kubeOnly.WrapFeatureGates(cmd.Flags().Lookup("feature-gates"), o.Server)
	o.Server.Flagz = flagz.NamedFlagSetsReader{FlagSets: sections}
	cmd.SetFlagErrorFunc(cli.FlagError)
	cmd.DisableFlagsInUseLine = true
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	completeFiles(cmd.Flags())
	for _, flag := range []string{"enable-admission-plugins", "disable-admission-plugins"} {
		// RegisterFlagCompletionFunc fails only for unknown flags.
		_ = cmd.RegisterFlagCompletionFunc(flag, complete.List(func(context.Context) []string { return admission.PluginNames() }))
	}
	return sections
}

// completeFiles tells shells which files to suggest for the values of some flags. For all other flags, a shell suggests
// every file.
func completeFiles(flags *pflag.FlagSet) {
	for name, kind := range map[string]struct {
		annotation string
		values     []string
	}{
		"apply":    {cobra.BashCompFilenameExt, []string{"yaml", "yml", "json"}},
		"load":     {cobra.BashCompFilenameExt, []string{"yaml", "yml", "json"}},
		"data-dir": {cobra.BashCompSubdirsInDir, nil},
		"cert-dir": {cobra.BashCompSubdirsInDir, nil},
	} {
		if flags.Lookup(name) != nil {
			// SetAnnotation fails only for unknown flags.
			_ = flags.SetAnnotation(name, kind.annotation, kind.values)
		}
	}
}

// Verbose reports whether the flags set a verbosity (-v, --vmodule) or a log format other than text.
func (o *Options) Verbose() bool { return logging.Verbose(o.logs) }

// LogFormatGiven reports whether the command line has --logging-format.
func (o *Options) LogFormatGiven() bool { return o.logFormat.Changed }

// Begin prints the warning about flags without an effect, and sets up the log. A command must call Begin before Run.
func (o *Options) Begin(errOut, log io.Writer) error {
	o.kubeOnly.DropAPIs(o.Server.APIs.RuntimeConfig)
	o.kubeOnly.Warn(errOut)
	if o.logRequests {
		o.Server.LogRequest = logging.Requests(o.logs, errOut)
	}
	return logging.Apply(o.logs, log)
}
