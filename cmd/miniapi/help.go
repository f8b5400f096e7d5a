package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// usual are the flags of kube-apiserver in the short help of serve. Each has a usage of one line, because
// kube-apiserver's own usage may be a page long.
var usual = []struct{ name, usage string }{
	{"audit-log-path", "Write the audit log to this `file`; - is standard output."},
	{"audit-policy-file", "Audit what the policy in this `file` says."},
	{"authorization-mode", "Authorize requests by these `modes`, the first one first."},
	{"bind-address", "Serve on this `IP` address."},
	{"disable-admission-plugins", "Turn off these admission `plugins`."},
	{"enable-admission-plugins", "Turn on these admission `plugins`, beside those that are on by default."},
	{"etcd-servers", "Keep the data in an etcd cluster at these `URLs`, instead of the embedded etcd."},
	{"runtime-config", "Serve these API `versions` or not, such as api/beta=true or api/legacy=true."},
	{"secure-port", "Serve on this `port`; 0 takes a free one."},
	{"v", "Log more, from the start: the `level` is a number, 1 or greater."},
}

// setShortHelp makes --help print one page: the examples, miniapi's own flags and the usual flags of kube-apiserver. The
// returned function prints the help of all flags.
func setShortHelp(cmd *cobra.Command, sections cliflag.NamedFlagSets, columns int) (all func()) {
	cliflag.SetUsageAndHelpFunc(cmd, sections, columns)
	printAll := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", cmd.Long, cmd.UseLine(), cmd.Example)
		const often = "often used"
		short := cliflag.NamedFlagSets{
			Order:    []string{server.OwnFlags, often},
			FlagSets: map[string]*pflag.FlagSet{server.OwnFlags: sections.FlagSets[server.OwnFlags], often: usualFlags(cmd.Flags())},
		}
		cliflag.PrintSections(out, short, columns)
		fmt.Fprintf(out, "\n\"%s --help-all\" lists all flags.\n", cmd.CommandPath())
	})
	return func() { printAll(cmd, nil) }
}

func usualFlags(of *pflag.FlagSet) *pflag.FlagSet {
	flags := pflag.NewFlagSet("usual", pflag.ContinueOnError)
	for _, u := range usual {
		flag := *of.Lookup(u.name)
		flag.Usage = u.usage
		flags.AddFlag(&flag)
	}
	return flags
}
