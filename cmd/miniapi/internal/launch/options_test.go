package launch

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// parsed returns the options after a command line is parsed.
func parsed(t *testing.T, args []string) *Options {
	t.Helper()
	o := NewOptions(server.NewOptions())
	cmd := &cobra.Command{Use: "test"}
	o.AddFlags(cmd, pflag.NewFlagSet("", pflag.ContinueOnError))
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFlagsOfKubeAPIServerAlone(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		args   []string
		want   string
		reason string
	}{
		{"none", []string{"--secure-port=0"}, "", "all flags have an effect"},
		{
			"several",
			[]string{"--egress-selector-config-file=x", "--enable-priority-and-fairness", "--egress-selector-config-file=y", "--feature-gates=NodeLogQuery=true,CBORServingAndStorage=true,ServiceAccountNodeAudienceRestriction=false,WorkloadWithJob=true,AllBeta=true", "--runtime-config=coordination.k8s.io/v1alpha1=true,scheduling.k8s.io/v1alpha2/workloads=true,resource.k8s.io/v1alpha3=true"},
			"Warning: these settings of kube-apiserver have no effect in miniapi: --egress-selector-config-file, --enable-priority-and-fairness, --feature-gates NodeLogQuery, --feature-gates AllBeta (for gates of parts that miniapi lacks), " +
				"--runtime-config coordination.k8s.io/v1alpha1, --runtime-config scheduling.k8s.io/v1alpha2/workloads\n",
			"each is named once, on one line",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := parsed(t, test.args)
			o.kubeOnly.DropAPIs(o.Server.APIs.RuntimeConfig)
			var warning bytes.Buffer
			o.kubeOnly.Warn(&warning)
			if diff := cmp.Diff(test.want, warning.String()); diff != "" {
				t.Errorf("warning (-want +got): %s\n%s", test.reason, diff)
			}
		})
	}
}

func TestSimilarFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, arg string
		want              string
	}{
		{"letter missing", "one letter differs", "--webhok-service=a/b=c:1", "unknown flag: --webhok-service: did you mean --webhook-service?"},
		{"hyphen missing", "one letter differs", "--datadir=x", "unknown flag: --datadir: did you mean --data-dir?"},
		{"underscore", "kube-apiserver's flags once had underscores", "--secure_port=0", "unknown flag: --secure_port: did you mean --secure-port?"},
		{"one hyphen", "flags of Go's own package have one hyphen", "-data-dir=x", "unknown shorthand flag: 'd' in -data-dir=x: did you mean --data-dir?"},
		{"last word", "the last word of a long name is enough", "--reconciler-type=x", "unknown flag: --reconciler-type: did you mean --endpoint-reconciler-type?"},
		{"several", "the user may have meant either flag", "--plugins=x", "unknown flag: --plugins: did you mean --disable-admission-plugins or --enable-admission-plugins?"},
		{"too many", "a long list doesn't help", "--audit=x", "unknown flag: --audit: see test --help"},
		{"none", "nothing is near", "--colour=x", "unknown flag: --colour: see test --help"},
		{"short", "every short name is similar to a flag of one letter", "--no", "unknown flag: --no: see test --help"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions(server.NewOptions())
			cmd := &cobra.Command{Use: "test"}
			own := pflag.NewFlagSet("", pflag.ContinueOnError)
			own.String("write-kubeconfig", "", "")
			o.AddFlags(cmd, own)
			err := cmd.ParseFlags([]string{test.arg})
			if err == nil {
				t.Fatal("want an error")
			}
			if diff := cmp.Diff(test.want, cli.FlagError(cmd, err).Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
