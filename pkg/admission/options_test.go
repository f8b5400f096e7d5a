package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const header = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"

	tests := []struct {
		name, reason string
		args         []string
		// on and off are plugins that must, or must not, run.
		on, off []string
		// warning and err are parts of the one warning or error.
		warning, err string
	}{{
		name:   "defaults",
		reason: "the reference's defaults, but for ServiceAccount",
		on:     []string{"NamespaceLifecycle", "ValidatingAdmissionPolicy", "MutatingAdmissionWebhook"},
		off:    []string{"AlwaysDeny", "ServiceAccount"},
	}, {
		name:   "enable and disable",
		reason: "both change the defaults",
		args:   []string{"--enable-admission-plugins=AlwaysDeny", "--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook"},
		on:     []string{"AlwaysDeny", "ValidatingAdmissionWebhook"},
		off:    []string{"NamespaceLifecycle", "MutatingAdmissionWebhook"},
	}, {
		name:   "disable what isn't there",
		reason: "projects that use envtest disable plugins by habit",
		args:   []string{"--disable-admission-plugins=ServiceAccount,JobValidation"},
		off:    []string{"ServiceAccount"},
	}, {
		name:    "enable what isn't there",
		reason:  "a plugin of the reference is accepted, and named once",
		args:    []string{"--enable-admission-plugins=JobValidation,JobValidation"},
		warning: "JobValidation is not part of miniapi",
	}, {
		name:   "unknown plugin",
		reason: "a misspelled name must not be taken for a plugin that is off",
		args:   []string{"--enable-admission-plugins=NamespaceLifeCycle"},
		err:    `--enable-admission-plugins: plugin "NamespaceLifeCycle" is unknown; known are AlwaysAdmit, `,
	}, {
		name:   "enabled and disabled",
		reason: "nobody knows which was meant",
		args:   []string{"--enable-admission-plugins=AlwaysDeny", "--disable-admission-plugins=AlwaysDeny"},
		err:    `plugin "AlwaysDeny" is in both`,
	}, {
		name:   "deprecated list",
		reason: "the old flag lists all plugins that run",
		args:   []string{"--admission-control=AlwaysAdmit"},
		on:     []string{"AlwaysAdmit"},
		off:    []string{"NamespaceLifecycle"},
	}, {
		name:   "both ways of choosing",
		reason: "the old flag has no defaults that the new ones could change",
		args:   []string{"--admission-control=AlwaysAdmit", "--enable-admission-plugins=AlwaysDeny"},
		err:    "--admission-control excludes",
	}, {
		name:   "configuration",
		reason: "the file and the files in it are read",
		args: []string{"--admission-control-config-file=" + file("good.yaml", header+"plugins:\n- name: PodSecurity\n  path: "+
			filepath.Base(file("podsecurity.yaml", "kind: PodSecurityConfiguration"))+"\n")},
	}, {
		name:   "missing configuration",
		reason: "the error names the flag and the file",
		args:   []string{"--admission-control-config-file=" + filepath.Join(dir, "missing.yaml")},
		err:    "--admission-control-config-file: open " + filepath.Join(dir, "missing.yaml"),
	}, {
		name:   "malformed configuration",
		reason: "the file's kind must be known, and its fields",
		args:   []string{"--admission-control-config-file=" + file("bad.yaml", header+"plugin: []\n")},
		err:    filepath.Join(dir, "bad.yaml") + " is not an admission configuration: strict decoding error: unknown field \"plugin\"",
	}, {
		name:   "configuration of a plugin is missing",
		reason: "the library would end the process at this",
		args:   []string{"--admission-control-config-file=" + file("dangling.yaml", header+"plugins:\n- name: PodSecurity\n  path: nothing.yaml\n")},
		err:    "plugin PodSecurity: open " + filepath.Join(dir, "nothing.yaml"),
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := NewOptions()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.SetOutput(&strings.Builder{})
			options.AddFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			wantOne(t, test.reason+": errors", texts(options.Validate()), test.err)
			wantOne(t, test.reason+": warnings", options.Warnings(), test.warning)

			runs := map[string]bool{}
			for _, p := range options.enabled() {
				runs[p.name] = true
			}
			for _, name := range test.on {
				if !runs[name] {
					t.Errorf("%s: %s does not run", test.reason, name)
				}
			}
			for _, name := range test.off {
				if runs[name] {
					t.Errorf("%s: %s runs", test.reason, name)
				}
			}
		})
	}
}

func TestServiceAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason, value string
		want                ServiceAddresses
		err                 string
	}{
		{name: "all ports", reason: "without a port, every port leads there", value: "a/b=127.0.0.1:9443", want: ServiceAddresses{{"a", "b", 0}: "127.0.0.1:9443"}},
		{name: "one port", reason: "services may have several", value: "a/b:443=[::1]:9443", want: ServiceAddresses{{"a", "b", 443}: "[::1]:9443"}},
		{name: "no namespace", reason: "services are namespaced", value: "b=127.0.0.1:9443", err: "is not of the form NAMESPACE/NAME"},
		{name: "no port to go to", reason: "there is nothing to guess it from", value: "a/b=127.0.0.1", err: "missing port in address"},
		{name: "port out of range", reason: "ports have 16 bits", value: "a/b:70000=127.0.0.1:1", err: "port of the service"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ServiceAddresses{}
			err := got.Set(test.value)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("%s: error %v, want one with %q", test.reason, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", test.reason, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// wantOne checks that there is one text and it contains want, or none if want is empty.
func wantOne(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if want == "" && len(got) == 0 {
		return
	}
	if want == "" || len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func texts(errs []error) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}
