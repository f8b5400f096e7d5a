package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

func TestCompleteNamesTheFlag(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*Options)
		want         []string
	}{
		{
			name: "defaults", reason: "a server needs no flag",
			change: func(*Options) {},
		},
		{
			name: "service range", reason: "a single address isn't a range",
			change: func(o *Options) { o.ServiceClusterIPRange = "10.0.0.1" },
			want:   []string{"--service-cluster-ip-range", `"10.0.0.1"`, "10.0.0.0/24"},
		},
		{
			name: "two ranges of one family", reason: "the second range must be of the other IP family",
			change: func(o *Options) { o.ServiceClusterIPRange = "10.0.0.0/24,10.1.0.0/24" },
			want:   []string{"--service-cluster-ip-range", "different IP families"},
		},
		{
			name:   "small service range",
			reason: "the objects that every cluster has need addresses, and kube-apiserver refuses a range of this size, too",
			change: func(o *Options) { o.ServiceClusterIPRange = "10.0.0.0/30" },
			want:   []string{"--service-cluster-ip-range", `"10.0.0.0/30"`, "at least 8 IP addresses"},
		},
		{
			name: "small second service range", reason: "both families need addresses",
			change: func(o *Options) { o.ServiceClusterIPRange = "10.0.0.0/24,fd00::/126" },
			want:   []string{"--service-cluster-ip-range", `"10.0.0.0/24,fd00::/126"`, "fd00::/126 must be at least 8 IP addresses"},
		},
		{
			name: "smallest service ranges", reason: "8 addresses are enough",
			change: func(o *Options) { o.ServiceClusterIPRange = "10.0.0.0/29,fd00::/125" },
		},
		{
			name: "data folder and etcd servers", reason: "an external etcd has a data folder of its own",
			change: func(o *Options) {
				o.DataDir = "here"
				o.Etcd.StorageConfig.Transport.ServerList = []string{"http://127.0.0.1:2379"}
			},
			want: []string{"--data-dir", "--etcd-servers"},
		},
		{
			name: "overrides without etcd servers", reason: "an embedded etcd stores all resources",
			change: func(o *Options) { o.Etcd.EtcdServersOverrides = []string{"/events#http://127.0.0.1:2379"} },
			want:   []string{"--etcd-servers-overrides", `"/events#http://127.0.0.1:2379"`, "--etcd-servers"},
		},
		{
			name: "overrides", reason: "the overrides are for a resource, a resource without a group, and a whole group",
			change: overrides("apps/deployments#http://127.0.0.1:1", "/events#http://127.0.0.1:2;http://127.0.0.1:3",
				"batch/*#http://127.0.0.1:4"),
		},
		{
			name: "override of a custom resource", reason: "kube-apiserver ignores the override, and the resource stays in the main etcd",
			change: overrides("/events#http://127.0.0.1:1", "example.com/widgets#http://127.0.0.1:2"),
			want:   []string{"--etcd-servers-overrides", "example.com/widgets", "built in"},
		},
		{
			name: "override of definitions", reason: "definitions stay in the same etcd as their resources",
			change: overrides("apiextensions.k8s.io/customresourcedefinitions#http://127.0.0.1:2"),
			want:   []string{"--etcd-servers-overrides", "apiextensions.k8s.io/customresourcedefinitions", "built in"},
		},
		{
			name: "override of another name", reason: "the events of both groups are stored together, as events of the core group",
			change: overrides("events.k8s.io/events#http://127.0.0.1:2"),
			want:   []string{"--etcd-servers-overrides", "events.k8s.io/events", "stored as /events"},
		},
		{
			name: "override without servers", reason: "an override must name etcd servers",
			change: overrides("apps/deployments"),
			want:   []string{"--etcd-servers-overrides", "group/resource#servers"},
		},
		{
			name: "several at once", reason: "the error lists all wrong flags at once",
			change: func(o *Options) {
				o.EventTTL = 0
				o.EndpointReconcilerType = "sometimes"
			},
			want: []string{"--event-ttl", "--endpoint-reconciler-type", `"sometimes"`, "lease, master-count or none"},
		},
		{
			name: "certificate without a key", reason: "the server can't use a certificate without its key",
			change: func(o *Options) { o.ProxyClientCertFile = "cert.pem" },
			want:   []string{"--proxy-client-cert-file", "--proxy-client-key-file"},
		},
		{
			name: "unknown API group", reason: "a misspelt group would have no effect",
			change: func(o *Options) { o.APIs.RuntimeConfig["nosuch.example.com/v1"] = "true" },
			want:   []string{"--runtime-config", "nosuch.example.com/v1"},
		},
		{
			name: "unknown resources", reason: "a misspelt resource would have no effect",
			change: func(o *Options) {
				o.APIs.RuntimeConfig["apps/v1/foos"], o.APIs.RuntimeConfig["storage.k8s.io/v1alpha1/csinodes"] = "true", "false"
			},
			want: []string{"--runtime-config", "unknown resources apps/v1/foos, storage.k8s.io/v1alpha1/csinodes"},
		},
		{
			name:   "unknown resource of definitions",
			reason: "the group of definitions has one resource, although the table doesn't have it",
			change: func(o *Options) { o.APIs.RuntimeConfig["apiextensions.k8s.io/v1/definitions"] = "false" },
			want:   []string{"--runtime-config", "unknown resources apiextensions.k8s.io/v1/definitions"},
		},

		{
			name: "no core", reason: "a server can't work without the core group, for example without namespaces",
			change: func(o *Options) { o.APIs.RuntimeConfig["api/ga"] = "false" },
			want:   []string{"--runtime-config", "api/ga=false", "v1"},
		},
		{
			name: "no core version", reason: "the core version is turned off in any spelling",
			change: func(o *Options) { o.APIs.RuntimeConfig["v1"] = "false" },
			want:   []string{"--runtime-config", "v1=false", "every server needs them"},
		},
		{
			name: "unknown core resource", reason: "a resource of the core version is checked in any spelling of the version",
			change: func(o *Options) { o.APIs.RuntimeConfig["api/v1/foos"] = "true" },
			want:   []string{"--runtime-config", "unknown resources /v1/foos"},
		},
		{
			name: "api/legacy", reason: "the value must be true or false",
			change: func(o *Options) { o.APIs.RuntimeConfig["api/legacy"] = "maybe" },
			want:   []string{"--runtime-config", "api/legacy=maybe", "true or false"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions()
			test.change(o)
			_, err := o.Complete()
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("%s: got %v", test.reason, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q doesn't name %q", test.reason, err, want)
				}
			}
		})
	}
}

// overrides returns a function that sets an external etcd, and other etcd servers for some resources.
func overrides(values ...string) func(*Options) {
	return func(o *Options) {
		o.Etcd.StorageConfig.Transport.ServerList = []string{"http://127.0.0.1:2379"}
		o.Etcd.EtcdServersOverrides = values
	}
}

func TestEtcdLocations(t *testing.T) {
	t.Parallel()
	o := NewOptions()
	overrides("apps/deployments#http://exact", "apps/*#http://group", "/events#http://a;http://b")(o)
	locations, err := etcd.Locations(o.Etcd, builtin.Table())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		resource schema.GroupResource
		want     []string
		reason   string
	}{
		{schema.GroupResource{Group: "apps", Resource: "deployments"}, []string{"http://exact"},
			"an override of the resource takes precedence over an override of its group, in any order"},
		{schema.GroupResource{Group: "apps", Resource: "statefulsets"}, []string{"http://group"}, "the override of the group applies"},
		{schema.GroupResource{Resource: "events"}, []string{"http://a", "http://b"}, "an etcd cluster has several servers"},
		{schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, []string{"http://a", "http://b"},
			"the events of both groups are stored together"},
		{schema.GroupResource{Resource: "pods"}, nil, "no override names the resource or its group"},
	} {
		if diff := cmp.Diff(test.want, locations[test.resource]); diff != "" {
			t.Errorf("%s (-want +got): %s\n%s", test.resource, test.reason, diff)
		}
	}
}

func TestRuntimeConfig(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		config       map[string]string
		gvr          schema.GroupVersionResource
		want         bool
	}{
		{"preferred", "the server serves the resources that kube-apiserver serves by default", nil,
			gvr("apps", "v1", "deployments"), true},
		{"custom resource definitions", "the server serves definitions although the table doesn't have them", nil,
			gvr("apiextensions.k8s.io", "v1", "customresourcedefinitions"), true},
		{"legacy unasked", "legacy versions must be enabled", nil, gvr("apps", "v1beta1", "deployments"), false},
		{"legacy", "api/legacy stands for all legacy versions", map[string]string{"api/legacy": "true"},
			gvr("extensions", "v1beta1", "deployments"), true},
		{"legacy kind of a served version",
			"kube-apiserver has removed single kinds from versions that it still serves",
			map[string]string{"api/legacy": "true"},
			gvr("admissionregistration.k8s.io", "v1beta1", "validatingwebhookconfigurations"), true},
		{"api/legacy, and no legacy kind", "api/legacy doesn't enable resources that kube-apiserver still serves",
			map[string]string{"api/legacy": "true"},
			gvr("admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicies"), false},
		{"legacy without one version", "the key of a version takes precedence over api/legacy",
			map[string]string{"api/legacy": "true", "apps/v1beta1": "false"}, gvr("apps", "v1beta1", "deployments"),
			false},
		{"legacy by name", "a legacy version can be enabled by its own key", map[string]string{"apps/v1beta2": "true"},
			gvr("apps", "v1beta2", "deployments"), true},
		{"legacy resource by name", "a legacy resource can be enabled by its own key",
			map[string]string{"storage.k8s.io/v1beta1/storageclasses": "true"},
			gvr("storage.k8s.io", "v1beta1", "storageclasses"), true},
		{"all", "api/all doesn't enable legacy versions", map[string]string{"api/all": "true"},
			gvr("apps", "v1beta1", "deployments"), false},
		{"all of a version", "api/all enables the resources that a version still has",
			map[string]string{"api/all": "true"},
			gvr("admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicies"), true},
		{"api/all, and a legacy kind", "kube-apiserver doesn't serve this resource of the version any more",
			map[string]string{"api/all": "true"},
			gvr("admissionregistration.k8s.io", "v1beta1", "validatingwebhookconfigurations"), false},
		{"beta", "api/beta enables beta versions that are off by default", map[string]string{"api/beta": "true"},
			gvr("resource.k8s.io", "v1beta1", "resourceclaims"), true},
		{"the first alpha versions",
			"the first alpha versions are legacy, although their types don't declare a removal",
			map[string]string{"api/all": "true"}, gvr("rbac.authorization.k8s.io", "v1alpha1", "roles"), false},
		{"the first alpha versions with api/legacy", "api/legacy enables the first alpha versions",
			map[string]string{"api/legacy": "true"}, gvr("node.k8s.io", "v1alpha1", "runtimeclasses"), true},
		{"off", "a version that is on by default can be turned off", map[string]string{"batch/v1": "false"},
			gvr("batch", "v1", "jobs"), false},
		{"definitions", "the group of definitions can be turned off, although it has a scheme of its own",
			map[string]string{"apiextensions.k8s.io/v1": "false"}, customresources.Definitions, false},
		{"the resource of definitions", "the resource can be turned off instead of its version",
			map[string]string{"apiextensions.k8s.io/v1/customresourcedefinitions": "false"},
			customresources.Definitions, false},
		{"all but one version, and definitions", "the key of a version takes precedence over api/all",
			map[string]string{"api/all": "false", "/v1": "true", "apiextensions.k8s.io/v1": "true"},
			customresources.Definitions, true},
		{"the core version without a group", "the help of --runtime-config names the core version v1",
			map[string]string{"api/all": "false", "v1": "true"}, gvr("", "v1", "pods"), true},
		{"the core version by its path", "kube-apiserver accepts the core version with its path, too",
			map[string]string{"api/all": "false", "api/v1": ""}, gvr("", "v1", "pods"), true},
		{"a resource of the core version", "the version has the same spellings before a resource",
			map[string]string{"v1/podtemplates": "false"}, gvr("", "v1", "podtemplates"), false},
		{"a resource of the core version by its path", "the version has the same spellings before a resource",
			map[string]string{"api/v1/podtemplates": "false"}, gvr("", "v1", "podtemplates"), false},
		{"all but one version", "api/all includes the version of definitions",
			map[string]string{"api/all": "false", "/v1": "true"}, customresources.Definitions, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions()
			for k, v := range test.config {
				o.APIs.RuntimeConfig[k] = v
			}
			completed, err := o.Complete()
			if err != nil {
				t.Fatal(err)
			}
			if got := completed.enabled.ResourceEnabled(test.gvr); got != test.want {
				t.Errorf("%s: %s served: got %t, want %t", test.reason, test.gvr, got, test.want)
			}
		})
	}
}

// The help of --feature-gates lists the gates of kube-apiserver, of the libraries as well as others.
func TestHelpOfFeatureGates(t *testing.T) {
	t.Parallel()
	var sections flag.NamedFlagSets
	NewOptions().AddFlags(&sections)
	usage := sections.FlagSet("generic").Lookup("feature-gates").Usage
	for _, want := range []string{
		"ExcludeAdmissionWebhookVirtualResources=true|false (BETA - default=true)",
		"WorkloadWithJob=true|false (ALPHA - default=false)",
		"AtomicFIFO=true|false (BETA - default=true)",
	} {
		if !strings.Contains(usage, want) {
			t.Errorf("the help doesn't have %q:\n%s", want, usage)
		}
	}
}

func gvr(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// A pipe, such as a shell's <(...), can be read only once: the checks of flags must not read it.
func TestFilesLeavePipes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		check func(file string) []error
	}{
		{"anything", func(file string) []error { return []error{files.Readable("token-auth-file", file)} }},
		{"authorities", func(file string) []error { return []error{files.Authorities("client-ca-file", file)} }},
		{"encryption", func(file string) []error {
			o := NewOptions().Etcd
			o.EncryptionProviderConfigFilepath = file
			return []error{etcd.CheckEncryption(o)}
		}},
		{"authentication", func(file string) []error {
			o := NewOptions().Authentication
			o.ConfigFile = file
			return o.ValidateFiles()
		}},
		{"authorities of an issuer", func(file string) []error {
			o := NewOptions().Authentication
			o.OIDC.IssuerURL, o.OIDC.ClientID, o.OIDC.CAFile = "https://127.0.0.1", "a", file
			return o.ValidateFiles()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const content = "not the expected content"
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			_, err = write.WriteString(content)
			if closed := write.Close(); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			if err := errors.Join(test.check(fmt.Sprintf("/dev/fd/%d", read.Fd()))...); err != nil {
				t.Error(err)
			}
			if left, err := io.ReadAll(read); err != nil || string(left) != content {
				t.Errorf("want %q left to read, got %q, %v", content, left, err)
			}
		})
	}
}
