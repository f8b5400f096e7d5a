package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// TestKubeAPIServerFlags takes every flag that kube-apiserver has.
func TestKubeAPIServerFlags(t *testing.T) {
	t.Parallel()

	names, err := os.ReadFile("testdata/kube-apiserver-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*cobra.Command{newKubeAPIServerCommand(), newServeCommand()} {
		for name := range strings.FieldsSeq(string(names)) {
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s doesn't know --%s", cmd.Name(), name)
			}
		}
	}
}

func TestInertFlags(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		args   []string
		want   string
		reason string
	}{
		{"none", []string{"--secure-port=0"}, "", "there is nothing to warn of"},
		{
			"several",
			[]string{"--egress-selector-config-file=x", "--enable-priority-and-fairness", "--egress-selector-config-file=y", "--feature-gates=SidecarContainers=true,kube:NodeSwap=false", "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true,resource.k8s.io/v1alpha3/resourcepoolstatusrequests=true,resource.k8s.io/v1alpha3=true"},
			"Warning: kube-apiserver has these, and they mean nothing here: --egress-selector-config-file, --enable-priority-and-fairness, --feature-gates SidecarContainers, --feature-gates NodeSwap, " +
				"--runtime-config internal.apiserver.k8s.io/v1alpha1, --runtime-config resource.k8s.io/v1alpha3/resourcepoolstatusrequests\n",
			"each is named once, on one line",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newServerOptions(server.NewOptions())
			cmd := &cobra.Command{Use: "test"}
			o.addTo(cmd, pflag.NewFlagSet("", pflag.ContinueOnError))
			if err := cmd.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			dropKubeAPIs(o.server.APIs.RuntimeConfig, o.inert)
			var warning bytes.Buffer
			o.inert.warn(&warning)
			if diff := cmp.Diff(test.want, warning.String()); diff != "" {
				t.Errorf("warning (-want +got): %s\n%s", test.reason, diff)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()

	p := start(t, "kube-apiserver", "--help")
	code, stdout, stderr := p.exit(t)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, and on stderr %q", code, stderr)
	}
	for flag, want := range map[string]bool{"secure-port": true, "etcd-servers": true, "insecure-port": false} {
		if got := regexp.MustCompile(`(?m)^\s*--` + flag + `\b`).MatchString(stdout); got != want {
			t.Errorf("--%s in the help is %v: envtest finds out this way which flags there are", flag, got)
		}
	}
	if !regexp.MustCompile(`--secure-port int .* 0 takes a free one\.`).MatchString(stdout) {
		t.Error("the help of --secure-port says something else of 0 than the server does")
	}
}
