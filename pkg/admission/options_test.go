package admission

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/miniapi-dev/miniapi/pkg/admission/services"
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
		// on are plugins that must run. off are plugins that must not run.
		on, off []string
		// warning is a part of the only warning, or empty if there must be no warning. err is a part of the only error,
		// or empty if there must be no error.
		warning, err string
	}{{
		name:   "defaults",
		reason: "the defaults are kube-apiserver's, except for ServiceAccount",
		on:     []string{"NamespaceLifecycle", "ValidatingAdmissionPolicy", "MutatingAdmissionWebhook"},
		off:    []string{"AlwaysDeny", "ServiceAccount"},
	}, {
		name:   "enable and disable",
		reason: "both flags change the defaults",
		args: []string{"--enable-admission-plugins=AlwaysDeny",
			"--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook"},
		on:  []string{"AlwaysDeny", "ValidatingAdmissionWebhook"},
		off: []string{"NamespaceLifecycle", "MutatingAdmissionWebhook"},
	}, {
		name:   "disable what isn't there",
		reason: "projects that use envtest disable plugins by habit",
		args:   []string{"--disable-admission-plugins=ServiceAccount,JobValidation"},
		off:    []string{"ServiceAccount"},
	}, {
		name:    "enable what isn't there",
		reason:  "a plugin that only kube-apiserver has is accepted, and the warning names it once",
		args:    []string{"--enable-admission-plugins=JobValidation,JobValidation"},
		warning: "JobValidation is not part of miniapi",
	}, {
		name:   "unknown plugin",
		reason: "a misspelled name must not be taken for a plugin that is off",
		args:   []string{"--enable-admission-plugins=NamespaceLifeCycle"},
		err:    `--enable-admission-plugins: plugin "NamespaceLifeCycle" is unknown: must be one of AlwaysAdmit, `,
	}, {
		name:   "unknown plugin disabled",
		reason: "a misspelled name must not be taken for a plugin that is on",
		args:   []string{"--disable-admission-plugins=NamespaceLifeCycle"},
		err:    `--disable-admission-plugins: plugin "NamespaceLifeCycle" is unknown`,
	}, {
		name:   "unknown plugin of the deprecated list",
		reason: "a misspelled name must not be taken for a plugin that is off",
		args:   []string{"--admission-control=NamespaceLifeCycle"},
		err:    `--admission-control: plugin "NamespaceLifeCycle" is unknown`,
	}, {
		name:    "deprecated list of what isn't there",
		reason:  "a plugin that only kube-apiserver has is accepted, and the warning names it",
		args:    []string{"--admission-control=JobValidation,AlwaysAdmit"},
		on:      []string{"AlwaysAdmit"},
		warning: "JobValidation is not part of miniapi",
	}, {
		name:   "enabled and disabled",
		reason: "the user may have meant either flag",
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
		reason: "the old flag has no defaults that the new flags could change",
		args:   []string{"--admission-control=AlwaysAdmit", "--enable-admission-plugins=AlwaysDeny"},
		err:    "can't be used together with --enable-admission-plugins or --disable-admission-plugins",
	}, {
		name:   "configuration",
		reason: "the file, and the files that it names, are read",
		args: []string{"--admission-control-config-file=" + file("good.yaml", header+"plugins:\n- name: PodSecurity\n  path: "+
			filepath.Base(file("podsecurity.yaml", "kind: PodSecurityConfiguration"))+"\n")},
	}, {
		name:   "configuration of a plugin of its own",
		reason: "the configuration files of two plugins are older than the AdmissionConfiguration",
		args:   []string{"--admission-control-config-file=" + file("selectors.yaml", "podNodeSelectorPluginConfig: {}\n")},
	}, {
		name:   "no configuration at all",
		reason: "a file of any other kind must be an error",
		args:   []string{"--admission-control-config-file=" + file("other.yaml", "other: {}\n")},
		err:    "must be an AdmissionConfiguration of apiserver.config.k8s.io/v1",
	}, {
		name:   "missing configuration",
		reason: "the error names the flag and the file",
		args:   []string{"--admission-control-config-file=" + filepath.Join(dir, "missing.yaml")},
		err:    "--admission-control-config-file: open " + filepath.Join(dir, "missing.yaml"),
	}, {
		name:   "malformed configuration",
		reason: "the file must have a known kind and known fields",
		args:   []string{"--admission-control-config-file=" + file("bad.yaml", header+"plugin: []\n")},
		err:    filepath.Join(dir, "bad.yaml") + " must be an AdmissionConfiguration of apiserver.config.k8s.io/v1: strict decoding error: unknown field \"plugin\"",
	}, {
		name:   "configuration of a plugin is missing",
		reason: "k8s.io/apiserver would end the process because of this file",
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

			for _, name := range test.on {
				if !options.Runs(name) {
					t.Errorf("%s: %s does not run", test.reason, name)
				}
			}
			for _, name := range test.off {
				if options.Runs(name) {
					t.Errorf("%s: %s runs", test.reason, name)
				}
			}
		})
	}
}

// Each flag sets its option, except for --admission-control, which TestOptions checks. The usage of
// --enable-admission-plugins lists the plugins.
func TestFlags(t *testing.T) {
	t.Parallel()
	options := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlags(flags)
	options.AddOwnFlags(flags)
	if err := flags.Parse([]string{"--enable-admission-plugins=A", "--disable-admission-plugins=B", "--admission-control-config-file=c",
		"--default-not-ready-toleration-seconds=1", "--default-unreachable-toleration-seconds=2",
		"--webhook-service=a/b=localhost:3"}); err != nil {
		t.Fatal(err)
	}
	want := &Options{Enable: []string{"A"}, Disable: []string{"B"}, ConfigFile: "c", NotReadyTolerationSeconds: 1, UnreachableTolerationSeconds: 2,
		Services: services.Addresses{{Namespace: "a", Name: "b"}: "localhost:3"}}
	if diff := cmp.Diff(want, options); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if flags.Lookup("admission-control").Deprecated == "" {
		t.Error("--admission-control isn't deprecated")
	}
	// The usage lists the default plugins in their order, and all plugins by name.
	usage := flags.Lookup("enable-admission-plugins").Usage
	on, all, _ := strings.Cut(usage, "). Comma-delimited list of admission plugins: ")
	if !strings.Contains(on, "(NamespaceLifecycle, LimitRanger, ") || strings.Contains(on, "AlwaysAdmit") || !strings.HasPrefix(all, "AlwaysAdmit, AlwaysDeny, ") {
		t.Errorf("usage %q", usage)
	}
}

// docs/admission.md names each plugin of the chain.
func TestPluginsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/admission.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range order {
		if !strings.Contains(string(page), p.name) {
			t.Errorf("plugin %s: want a row of the table of plugins in docs/admission.md", p.name)
		}
	}
}

// The chain has kube-apiserver's plugins, in its order and with its defaults, except that ServiceAccount is off.
func TestOrder(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`
		AlwaysAdmit NamespaceAutoProvision +NamespaceLifecycle NamespaceExists LimitPodHardAntiAffinityTopology +LimitRanger
		ServiceAccount NodeRestriction +TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook +PodSecurity PodNodeSelector
		+Priority +DefaultTolerationSeconds PodTolerationRestriction EventRateLimit ExtendedResourceToleration
		+DefaultStorageClass +StorageObjectInUseProtection +PodGroupProtection OwnerReferencesPermissionEnforcement
		+PersistentVolumeClaimResize +RuntimeClass +CertificateApproval +CertificateSigning +ClusterTrustBundleAttest
		+CertificateSubjectRestriction +DefaultIngressClass DenyServiceExternalIPs +PodTopologyLabels
		+PodGroupWorkloadExists +NodeDeclaredFeatureValidator +JobValidation +PodResizeValidator
		+MutatingAdmissionPolicy +MutatingAdmissionWebhook +ValidatingAdmissionPolicy +ValidatingAdmissionWebhook
		+ResourceQuota AlwaysDeny`)
	var got []string
	for _, p := range order {
		name := p.name
		if p.on {
			name = "+" + name
		}
		// Skip a plugin that kube-apiserver lacks, because it may have any position.
		if slices.ContainsFunc(want, func(w string) bool { return strings.TrimPrefix(w, "+") == p.name }) {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each plugin gets its part of the configuration file.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	const header = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	const renamed = "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: k\n"
	dir := t.TempDir()
	for name, content := range map[string]string{"one.yaml": "one: 1\n", "two.yaml": "two: 2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, reason, content string
		// want has the configuration of each plugin, and the base name of the file that the configuration comes from.
		// "c.yaml" stands for the file whose text is the field content.
		want map[string][2]string
	}{{
		name:    "files",
		reason:  "a path is absolute, or relative to the file",
		content: header + "- {name: A, path: one.yaml}\n- {name: B, path: " + filepath.Join(dir, "two.yaml") + "}\n",
		want:    map[string][2]string{"A": {"one: 1\n", "one.yaml"}, "B": {"two: 2\n", "two.yaml"}},
	}, {
		name:    "embedded",
		reason:  "a configuration in the file takes precedence over a named file",
		content: header + "- {name: A, configuration: {a: 1}, path: one.yaml}\n",
		want:    map[string][2]string{"A": {`{"a":1}`, "c.yaml"}},
	}, {
		name:    "twice",
		reason:  "of two entries for a plugin, the first entry counts",
		content: header + "- {name: A, path: one.yaml}\n- {name: A, path: two.yaml}\n",
		want:    map[string][2]string{"A": {"one: 1\n", "one.yaml"}},
	}, {
		name:    "nothing",
		reason:  "a plugin may be named without a configuration",
		content: header + "- {name: A}\n",
		want:    map[string][2]string{},
	}, {
		name:    "renamed",
		reason:  "k8s.io/apiserver accepts only the current name of the kind",
		content: header + "- {name: A, configuration: {apiVersion: apiserver.config.k8s.io/v1alpha1, kind: WebhookAdmission, kubeConfigFile: k}}\n",
		want:    map[string][2]string{"A": {renamed, "c.yaml"}},
	}, {
		name:    "not renamed",
		reason:  "only the kind WebhookAdmission has another name in this version",
		content: header + "- {name: A, configuration: {apiVersion: apiserver.config.k8s.io/v1alpha1, kind: Other}}\n",
		want:    map[string][2]string{"A": {`{"apiVersion":"apiserver.config.k8s.io/v1alpha1","kind":"Other"}`, "c.yaml"}},
	}, {
		name:    "not of that version",
		reason:  "another version has another name for the kind",
		content: header + "- {name: A, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmission}}\n",
		want:    map[string][2]string{"A": {`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"WebhookAdmission"}`, "c.yaml"}},
	}, {
		name:    "image policy",
		reason:  "the configuration of the plugin can be a file without AdmissionConfiguration",
		content: "imagePolicy: {}\n",
		want:    map[string][2]string{"ImagePolicyWebhook": {"imagePolicy: {}\n", "c.yaml"}},
	}, {
		name:    "image policy of another kind",
		reason:  "k8s.io/apiserver checks neither the version nor the kind",
		content: "apiVersion: v1\nkind: Other\nimagePolicy: {}\n",
		want:    map[string][2]string{"ImagePolicyWebhook": {"apiVersion: v1\nkind: Other\nimagePolicy: {}\n", "c.yaml"}},
	}, {
		name:    "image policy of a version",
		reason:  "k8s.io/apiserver doesn't require a kind",
		content: "apiVersion: v1\nimagePolicy: {}\n",
		want:    map[string][2]string{"ImagePolicyWebhook": {"apiVersion: v1\nimagePolicy: {}\n", "c.yaml"}},
	}, {
		name:    "image policy of a kind",
		reason:  "k8s.io/apiserver doesn't require a version",
		content: "kind: Other\nimagePolicy: {}\n",
		want:    map[string][2]string{"ImagePolicyWebhook": {"kind: Other\nimagePolicy: {}\n", "c.yaml"}},
	}, {
		name:    "node selectors",
		reason:  "the configuration of the plugin can be a file without AdmissionConfiguration",
		content: "podNodeSelectorPluginConfig: {}\n",
		want:    map[string][2]string{"PodNodeSelector": {"podNodeSelectorPluginConfig: {}\n", "c.yaml"}},
	}}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			own := filepath.Join(dir, strconv.Itoa(i)) // in the folder of one.yaml and two.yaml
			if err := os.WriteFile(own, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := readConfiguration(own)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][2]string{}
			for name, plugin := range c.plugins {
				file := filepath.Base(plugin.file)
				if plugin.file == own {
					file = "c.yaml"
				}
				got[name] = [2]string{string(plugin.content), file}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// wantOne checks that got has one text, which contains want. If want is empty, got must be empty.
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

// Policies never get reviews of authentication and authorization. Webhooks get them only while a feature gate is off.
func TestHides(t *testing.T) {
	t.Parallel()
	reviews := schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}
	for _, test := range []struct {
		name, reason, plugin string
		resource             schema.GroupResource
		gate, want           bool
	}{
		{"webhook", "the gate hides reviews", "MutatingAdmissionWebhook", reviews, true, true},
		{"webhook without the gate", "before Kubernetes 1.37, webhooks get reviews", "ValidatingAdmissionWebhook", reviews, false, false},
		{"policy", "no policy gets reviews", "ValidatingAdmissionPolicy", reviews, false, true},
		{"pods", "only reviews are hidden", "MutatingAdmissionPolicy", schema.GroupResource{Resource: "pods"}, true, false},
	} {
		gates := utilfeature.DefaultFeatureGate.DeepCopy()
		if err := gates.SetFromMap(map[string]bool{string(features.ExcludeAdmissionWebhookVirtualResources): test.gate}); err != nil {
			t.Fatal(err)
		}
		if got := Hides(gates, test.plugin, test.resource); got != test.want {
			t.Errorf("%s: %s: want %t, got %t", test.name, test.reason, test.want, got)
		}
	}
}
