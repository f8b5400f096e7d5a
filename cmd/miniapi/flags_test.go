package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// "miniapi kube-apiserver" and "miniapi serve" have every flag of kube-apiserver.
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
		t.Error("the help of --secure-port explains 0 differently from the server's error")
	}
}
