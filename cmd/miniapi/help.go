package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// addHelp adds cobra's help command. For an unknown command, cobra's own would print the error and succeed.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return // cobra adds the command only to a program with subcommands
	}
	help.Args = cli.UsageArgs(func(_ *cobra.Command, args []string) error {
		about, rest, err := root.Find(args)
		if err != nil {
			return err
		}
		return cli.KnownSubcommand(about, rest)
	})
}

// usual are the flags of kube-apiserver in the short help of serve. Each has a usage of one line, because
// kube-apiserver's own usage may be a page long.
var usual = []struct{ name, usage string }{
	{"audit-log-path", "Write the audit log to this `FILE`; - is standard output."},
	{"audit-policy-file", "Audit what the policy in this `FILE` says."},
	{"authorization-mode", "Authorize requests by these `MODES`, the first one first."},
	{"bind-address", "Serve on this `IP` address."},
	{"disable-admission-plugins", "Turn off these admission `PLUGINS`."},
	{"enable-admission-plugins", "Turn on these admission `PLUGINS`, beside those that are on by default."},
	{"etcd-servers", "Keep the data in an etcd cluster at these `URLS`, instead of the embedded etcd."},
	{"runtime-config", "Serve these API `VERSIONS` or not, such as api/beta=true or api/legacy=true."},
	{"secure-port", "Serve on this `PORT`; 0 takes a free one."},
	{"v", "Log more, from the start: the `LEVEL` is a number, 1 or greater."},
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
