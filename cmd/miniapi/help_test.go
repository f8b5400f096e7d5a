package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/launch"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// flagsIn returns the flags that a help text lists.
func flagsIn(help string) map[string]bool {
	flags := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`).FindAllStringSubmatch(help, -1) {
		flags[match[1]] = true
	}
	return flags
}

// The short help of serve fits on one page: the purpose, examples, and the most important flags.
func TestHelpOfServe(t *testing.T) {
	t.Parallel()
	code, help, stderr := start(t, "miniapi", "serve", "--help").exit(t)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, and on stderr %q", code, stderr)
	}
	examples, flags, found := strings.Cut(help, "Miniapi's own flags:")
	if n := strings.Count(examples, "\n  # "); !found || n != 4 {
		t.Errorf("want four examples before miniapi's own flags, got %d:\n%s", n, help)
	}
	own, others, _ := strings.Cut(flags, "Often used flags:")
	want := []string{"apply", "apply-skip-unknown", "data-dir", "fault", "fault-file", "fault-seed", "help-all", "log-requests", "webhook-service", "write-kubeconfig"}
	for _, name := range want {
		if !flagsIn(own)[name] {
			t.Errorf("want --%s among miniapi's own flags, got:\n%s", name, own)
		}
	}
	kubeAPIServer := pflag.NewFlagSet("", pflag.ContinueOnError)
	kubeAPIServer.AddFlagSet(newKubeAPIServerCommand().Flags())
	for name := range flagsIn(others) {
		if kubeAPIServer.Lookup(name) == nil {
			t.Errorf("--%s isn't kube-apiserver's", name)
		}
	}
	if lines := strings.Count(help, "\n"); lines > 70 {
		t.Errorf("want a page, got %d lines", lines)
	}
	if strings.Contains(help, "AllAlpha") || !strings.Contains(help, "--help-all") {
		t.Errorf("want the feature gates behind --help-all, got:\n%s", help)
	}
}

// --help-all prints every flag, except for hidden and deprecated flags.
func TestHelpAll(t *testing.T) {
	t.Parallel()
	code, help, stderr := start(t, "miniapi", "serve", "--help-all").exit(t)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, and on stderr %q", code, stderr)
	}
	listed := flagsIn(help)
	newServeCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" && !listed[f.Name] {
			t.Errorf("--%s isn't listed", f.Name)
		}
	})
	if !strings.Contains(help, "AllAlpha=true|false") {
		t.Error("the feature gates aren't listed")
	}
}

// No line of the help is longer than the terminal is wide.
func TestHelpIsWrapped(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 120} {
		o := launch.NewOptions(server.NewOptions())
		cmd := &cobra.Command{Use: "test", Long: "What it is for.", Example: "  test"}
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		setShortHelp(cmd, o.AddFlags(cmd, own), columns)
		var help bytes.Buffer
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(help.String()) {
			if line = strings.TrimRight(line, " \n"); len(line) > columns {
				t.Errorf("want no more than %d columns, got %q", columns, line)
			}
		}
	}
}

// The help has a placeholder in capital letters for the value of each of miniapi's own flags.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	kubeAPIServer := newKubeAPIServerCommand().Flags()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || kubeAPIServer.Lookup(f.Name) != nil && cmd.Name() == "serve" || cmd.Name() == "kube-apiserver" {
				return
			}
			if name, _ := pflag.UnquoteUsage(f); name != strings.ToUpper(name) {
				t.Errorf("%s --%s: want a placeholder in capital letters, got %q", cmd.CommandPath(), f.Name, name)
			}
		})
		for _, subcommand := range cmd.Commands() {
			check(subcommand)
		}
	}
	check(newRootCommand())
}
