package integration_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/discovery"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// newKinds maps a version of kube-apiserver to the resources that this version doesn't serve by default, but that the
// next version does.
var newKinds = map[string][]string{
	"1.36": {"certificates.k8s.io/v1/clustertrustbundles", "certificates.k8s.io/v1/podcertificaterequests",
		"resource.k8s.io/v1/devicetaintrules", "storagemigration.k8s.io/v1/storageversionmigrations"},
	"1.35": {"admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
		"admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"},
	"1.34": nil,
}

// A server that emulates an earlier version of Kubernetes serves only the kinds and API versions of that version. The
// tests of this file aren't parallel, because the emulated version applies to the whole process.
func TestEmulatedKinds(t *testing.T) {
	var all sets.Set[string]
	t.Run("none", func(t *testing.T) { all = servedBy(t, miniapitest.Start(t)) })
	var missing []string
	for _, version := range slices.Backward(slices.Sorted(maps.Keys(newKinds))) {
		missing = append(missing, newKinds[version]...)
		t.Run(version, func(t *testing.T) {
			srv := miniapitest.Start(t, miniapitest.WithEmulatedVersion(version))
			gone := sets.List(all.Difference(servedBy(t, srv)))
			if diff := cmp.Diff(slices.Sorted(slices.Values(missing)), gone); diff != "" {
				t.Errorf("what isn't served (-want +got):\n%s", diff)
			}
			info := must(srv.Client().Discovery().ServerVersion())(t)
			if got := info.EmulationMajor + "." + info.EmulationMinor; got != version {
				t.Errorf("/version says that it emulates %s", got)
			}
		})
	}
}

// servedBy returns the resources of discovery, without subresources.
func servedBy(t *testing.T, srv *miniapitest.Server) sets.Set[string] {
	t.Helper()
	served := sets.New[string]()
	_, lists, err := srv.Client().Discovery().ServerGroupsAndResources()
	ok(t, err)
	for _, list := range lists {
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				served.Insert(list.GroupVersion + "/" + r.Name)
			}
		}
	}
	return served
}

// Options can turn on API versions that are off by default in the emulated version of Kubernetes. API versions that are
// newer than the emulated version need another option.
func TestEmulatedVersionsOnDemand(t *testing.T) {
	const v1, v1beta1 = "admissionregistration.k8s.io/v1/mutatingadmissionpolicies", "admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies"
	for _, test := range []struct {
		name, version, reason string
		options               []miniapitest.Option
		want                  map[string]bool
	}{
		{"beta", "1.35", "the kind was beta in 1.35",
			[]miniapitest.Option{miniapitest.WithAPIs("admissionregistration.k8s.io/v1beta1")},
			map[string]bool{v1beta1: true, v1: false}},
		{"all", "1.36", "workloads had no beta version in 1.36", []miniapitest.Option{miniapitest.WithAPIs("api/all")},
			map[string]bool{"scheduling.k8s.io/v1beta1/workloads": false, "resource.k8s.io/v1beta2/devicetaintrules": true, v1: true}},
		{"removed since", "1.36", "ipaddresses had a beta version before 1.37",
			[]miniapitest.Option{miniapitest.WithAPIs("api/beta")},
			map[string]bool{"networking.k8s.io/v1beta1/ipaddresses": true}},
		{"legacy", "1.34", "api/legacy also stands for versions that 1.34 had already removed",
			[]miniapitest.Option{miniapitest.Legacy()},
			map[string]bool{"extensions/v1beta1/deployments": true, v1: false}},
		{"forward", "1.35", "clients of an enabled version may support only its next version",
			[]miniapitest.Option{miniapitest.WithAPIs("admissionregistration.k8s.io/v1beta1"),
				forward(func(o *server.Options) { o.ServerRun.EmulationForwardCompatible = true })},
			map[string]bool{v1beta1: true, v1: true}},
		{"by name", "1.35", "the resource is named",
			[]miniapitest.Option{miniapitest.WithAPIs(v1), forward(func(o *server.Options) { o.ServerRun.RuntimeConfigEmulationForwardCompatible = true })},
			map[string]bool{v1: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			served := servedBy(t, miniapitest.Start(t, append(test.options, miniapitest.WithEmulatedVersion(test.version))...))
			for resource, want := range test.want {
				if got := served.Has(resource); got != want {
					t.Errorf("%s served: want %t because %s, got %t", resource, want, test.reason, got)
				}
			}
		})
	}
}

func forward(change func(*server.Options)) miniapitest.Option {
	return inprocess.WithServerOptions(change)
}

// Objects are stored in a form that the emulated version and the version before it can read.
func TestEmulatedStorageVersions(t *testing.T) {
	const group, kind = "admissionregistration.k8s.io", "MutatingAdmissionPolicy"
	for version, stored := range map[string]string{"1.34": "v1beta1", "1.36": "v1beta1", "1.37": "v1"} {
		t.Run(version, func(t *testing.T) {
			srv := miniapitest.Start(t, miniapitest.WithEmulatedVersion(version), miniapitest.WithAPIs(group+"/v1beta1"))
			list := must(srv.Client().Discovery().ServerResourcesForGroupVersion(group + "/v1beta1"))(t)
			i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind })
			if got, want := list.APIResources[i].StorageVersionHash, discovery.StorageVersionHash(group, stored, kind); got != want {
				t.Errorf("want %s stored in %s, with hash %s, got %s", kind, stored, want, got)
			}
		})
	}
}

// An unknown version is refused, and the error has the possible versions. Features that the emulated version lacks are
// refused, too.
func TestEmulationRefused(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		want         string
	}{
		{"old", "this server can't emulate 1.33", []miniapitest.Option{miniapitest.WithEmulatedVersion("1.33")},
			"--emulated-version 1.33 is not between [1.34, 1.37"},
		{"new", "the version doesn't exist yet", []miniapitest.Option{miniapitest.WithEmulatedVersion("1.99")},
			"--emulated-version 1.99 is not between [1.34, 1.37"},
		{"no version", "latest is no version of Kubernetes",
			[]miniapitest.Option{miniapitest.WithEmulatedVersion("latest")}, `emulated version "latest"`},
		{"two", "a server has one emulated version",
			[]miniapitest.Option{miniapitest.WithEmulatedVersion("1.35"), miniapitest.WithEmulatedVersion("1.36")},
			"1.35 and as 1.36"},
		{"gate", "1.35 lacks the feature gate",
			[]miniapitest.Option{miniapitest.WithEmulatedVersion("1.35"), miniapitest.WithFeatureGates(map[string]bool{"EtcdRangeStream": true})},
			"EtcdRangeStream"},
		{"resource", "1.35 lacks the resource",
			[]miniapitest.Option{miniapitest.WithEmulatedVersion("1.35"), miniapitest.WithAPIs("admissionregistration.k8s.io/v1/mutatingadmissionpolicies")},
			"introduced at 1.36 after the current version 1.35"},
		{"version", "1.35 lacks the version",
			[]miniapitest.Option{miniapitest.WithEmulatedVersion("1.35"), miniapitest.WithAPIs("storagemigration.k8s.io/v1")},
			"storagemigration.k8s.io/v1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv, err := miniapitest.New(t.Context(), test.options...)
			if err == nil {
				_ = srv.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
}

// Servers with different emulated versions can't run in one process at the same time, because feature gates apply to
// the whole process.
func TestEmulatedVersionIsOfTheProcess(t *testing.T) {
	older := must(miniapitest.New(t.Context(), inprocess.Engine(), miniapitest.WithEmulatedVersion("1.35")))(t)
	if _, err := miniapitest.New(t.Context(), inprocess.Engine()); err == nil || !strings.Contains(err.Error(), "running servers have --emulated-version=1.35") {
		t.Errorf("want an error that names the version, got %v", err)
	}
	ok(t, older.Stop())
	if served := servedBy(t, miniapitest.Start(t, inprocess.Engine())); !served.Has("admissionregistration.k8s.io/v1/mutatingadmissionpolicies") {
		t.Error("want the next server to be as if the older one hadn't been")
	}
}
