package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestElectAtOnce(t *testing.T) {
	t.Parallel()

	none := func(string) string { return "" }
	for _, test := range []struct {
		name   string
		args   []string
		getenv func(string) string
		fast   bool
		reason string
	}{
		{"envtest", []string{"--data-dir", "d", "--listen-client-urls=http://127.0.0.1:1"}, none, true, "it is alone"},
		{"nothing", nil, none, true, "it is alone"},
		{"own pace", []string{"-election-timeout", "1000"}, none, false, "that is what was asked for"},
		{"peers", []string{"--initial-cluster=a=http://a,b=http://b"}, none, false, "peers answer over a network"},
		{"peers by environment", nil,
			func(name string) string { return map[string]string{"ETCD_INITIAL_CLUSTER": "a=http://a"}[name] }, false,
			"etcd reads its flags from there too"},
		{"file", []string{"--config-file=f"}, none, false, "beside a file etcd reads no flag"},
		{"value like a flag", []string{"--name=discovery", "--data-dir", "election-timeout"}, none, true, "these are values"},
		{"other command", []string{"gateway", "start"}, none, false, "it has flags of its own"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := append([]string{}, test.args...)
			if test.fast {
				want = append(want, "--heartbeat-interval=5", "--election-timeout=25")
			}
			if diff := cmp.Diff(want, append([]string{}, electAtOnce(test.args, test.getenv)...)); diff != "" {
				t.Errorf("arguments (-want +got): %s\n%s", test.reason, diff)
			}
		})
	}
}
