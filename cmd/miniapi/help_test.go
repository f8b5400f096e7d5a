package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// flagsIn are the flags that a help lists.
func flagsIn(help string) map[string]bool {
	flags := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`).FindAllStringSubmatch(help, -1) {
		flags[match[1]] = true
	}
	return flags
}

// The help of serve is a page: what the command is for, how it is used, and the flags that matter.
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
	want := []string{"apply", "apply-skip-unknown", "data-dir", "help-all", "log-requests", "webhook-service", "write-kubeconfig"}
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

// Every flag that isn't hidden is in the help of all flags.
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

// Help fits into the terminal.
func TestHelpIsWrapped(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 120} {
		o := newServerOptions(server.NewOptions())
		cmd := &cobra.Command{Use: "test", Long: "What it is for.", Example: "  test"}
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		setShortHelp(cmd, o.addTo(cmd, own), columns)
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

func TestSimilarFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, arg string
		want              string
	}{
		{"letter missing", "it is nearest", "--webhok-service=a/b=c:1", "unknown flag: --webhok-service: did you mean --webhook-service?"},
		{"hyphen missing", "it is nearest", "--datadir=x", "unknown flag: --datadir: did you mean --data-dir?"},
		{"underscore", "kube-apiserver's flags had them once", "--secure_port=0", "unknown flag: --secure_port: did you mean --secure-port?"},
		{"one hyphen", "flags of Go's own package have one", "-data-dir=x", "unknown shorthand flag: 'd' in -data-dir=x: did you mean --data-dir?"},
		{"last word", "kubectl's flag is called so", "--kubeconfig=x", "unknown flag: --kubeconfig: did you mean --write-kubeconfig?"},
		{"several", "it may be either", "--plugins=x", "unknown flag: --plugins: did you mean --disable-admission-plugins or --enable-admission-plugins?"},
		{"too many", "a list says nothing", "--audit=x", "unknown flag: --audit: see test --help"},
		{"none", "nothing is near", "--colour=x", "unknown flag: --colour: see test --help"},
		{"short", "everything short is near a flag of one letter", "--no", "unknown flag: --no: see test --help"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newServerOptions(server.NewOptions())
			cmd := &cobra.Command{Use: "test"}
			own := pflag.NewFlagSet("", pflag.ContinueOnError)
			own.String("write-kubeconfig", "", "")
			o.addTo(cmd, own)
			err := cmd.ParseFlags([]string{test.arg})
			if err == nil {
				t.Fatal("want an error")
			}
			if diff := cmp.Diff(test.want, flagError(cmd, err).Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
