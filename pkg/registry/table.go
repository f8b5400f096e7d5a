package registry

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/version"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/names"
)

// Table has all groups of kinds that a server serves besides custom resources, and their scheme. A table doesn't
// change, so several servers can share it. Each of its many methods answers one question of a server about the rows.
type Table struct {
	groups []Group
	scheme *runtime.Scheme
	// codecs and cborCodecs are those without and with the feature gate CBORServingAndStorage. Each is made at its
	// first use. Servers that run one after the other in a process can have different gates.
	codecs, cborCodecs func() serializer.CodecFactory
}

// NewTable makes a table of groups. It returns an error for types that are registered twice and for versions without an
// order.
func NewTable(groups ...Group) (*Table, error) {
	t := &Table{groups: groups, scheme: runtime.NewScheme()}
	t.codecs = sync.OnceValue(func() serializer.CodecFactory {
		return serializer.NewCodecFactory(t.scheme, codecOptions()...)
	})
	t.cborCodecs = sync.OnceValue(func() serializer.CodecFactory {
		return serializer.NewCodecFactory(t.scheme, append(codecOptions(), serializer.WithSerializer(cbor.NewSerializerInfo))...)
	})
	if err := t.fillScheme(); err != nil {
		return nil, err
	}
	return t, nil
}

// Groups returns the table's groups in the order of NewTable. Callers must not change them.
func (t *Table) Groups() []Group { return t.groups }

// DefaultAPIs returns the group versions that are served by default. --runtime-config changes them.
func (t *Table) DefaultAPIs() *serverstorage.ResourceConfig {
	config := serverstorage.NewResourceConfig()
	for _, g := range t.groups {
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
			if v.OnDemand {
				config.DisableVersions(gv)
			} else {
				config.EnableVersions(gv)
			}
		}
	}
	return config
}

// LegacyAPIs returns the resources of the key "api/legacy". It has each resource in the versions of k8s.io/api that a
// kube-apiserver of the emulated version of Kubernetes no longer serves.
func (t *Table) LegacyAPIs(kubernetes *version.Version) []schema.GroupVersionResource {
	var legacy []schema.GroupVersionResource
	t.each(func(gv schema.GroupVersion, k *Kind) {
		if t.removed(gv.WithKind(k.KindName()), kubernetes) {
			legacy = append(legacy, gv.WithResource(k.Resource))
		}
	})
	return legacy
}

// Prototypes returns objects of the enabled kinds that a version of Kubernetes hasn't removed, by resource. Their Go
// types are those of the hub.
func (t *Table) Prototypes(enabled serverstorage.APIResourceConfigSource, kubernetes *version.Version) map[schema.GroupVersionResource]runtime.Object {
	prototypes := map[schema.GroupVersionResource]runtime.Object{}
	t.each(func(gv schema.GroupVersion, k *Kind) {
		gvk, gvr := gv.WithKind(k.KindName()), gv.WithResource(k.Resource)
		if t.scheme.Recognizes(gvk) && enabled.ResourceEnabled(gvr) && !t.removed(gvk, kubernetes) {
			prototypes[gvr] = k.Object
		}
	})
	return prototypes
}

// HasResource tells whether the table has a resource in a version, even if it isn't served.
func (t *Table) HasResource(gvr schema.GroupVersionResource) bool {
	g := t.group(gvr.Group)
	if g == nil {
		return false
	}
	for _, k := range t.Rows(g) {
		if k.Resource == gvr.Resource && t.scheme.Recognizes(gvr.GroupVersion().WithKind(k.KindName())) {
			return true
		}
	}
	return false
}

// Priority returns the priority of a group (see Group.Priority), or 0 for a group that isn't in the table.
func (t *Table) Priority(group string) int32 {
	if g := t.group(group); g != nil {
		return g.Priority
	}
	return 0
}

// StoragePrefixes returns the paths of resources below the etcd prefix.
func (t *Table) StoragePrefixes() map[schema.GroupResource]string {
	prefixes := map[schema.GroupResource]string{}
	for i := range t.groups {
		g := &t.groups[i]
		for _, k := range t.Rows(g) {
			prefixes[schema.GroupResource{Group: g.Name, Resource: k.Resource}] = k.storagePrefix()
		}
	}
	return prefixes
}

// Cohabiting returns the resources that several groups serve from one store. The owning group comes first.
func (t *Table) Cohabiting() [][]schema.GroupResource {
	var out [][]schema.GroupResource
	for _, g := range t.groups {
		for _, b := range g.Borrowed {
			out = append(out, []schema.GroupResource{b, {Group: g.Name, Resource: b.Resource}})
		}
	}
	return out
}

// group returns the group of a name, or nil.
func (t *Table) group(name string) *Group {
	for i := range t.groups {
		if t.groups[i].Name == name {
			return &t.groups[i]
		}
	}
	return nil
}

// Row returns the row of a resource in the group that owns it, or nil.
func (t *Table) Row(resource schema.GroupResource) *Kind {
	g := t.group(resource.Group)
	if g == nil {
		return nil
	}
	for i := range g.Kinds {
		if g.Kinds[i].Resource == resource.Resource {
			return &g.Kinds[i]
		}
	}
	return nil
}

// Rows returns a group's own kinds and the borrowed ones.
func (t *Table) Rows(g *Group) []*Kind {
	var kinds []*Kind
	for i := range g.Kinds {
		kinds = append(kinds, &g.Kinds[i])
	}
	for _, b := range g.Borrowed {
		if k := t.Row(b); k != nil {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Versions returns the group versions that serve a row.
func (t *Table) Versions(k *Kind) []schema.GroupVersion {
	var versions []schema.GroupVersion
	t.each(func(gv schema.GroupVersion, row *Kind) {
		if row == k && t.scheme.Recognizes(gv.WithKind(k.KindName())) {
			versions = append(versions, gv)
		}
	})
	return versions
}

// Strategy returns the strategy of a row in this table.
func (t *Table) Strategy(k *Kind, deps Dependencies) Strategy {
	var versions []schema.GroupVersion
	t.each(func(gv schema.GroupVersion, row *Kind) {
		if row == k {
			versions = append(versions, gv)
		}
	})
	return Strategy{
		ObjectTyper: t.scheme, NameGenerator: names.SimpleNameGenerator, Kind: k, Versions: versions, deps: deps,
		gates: gatesOff(k.Gated, deps.Kubernetes), podGates: gatesOff(podGates, deps.Kubernetes),
	}
}

// owner returns the group that owns a row.
func (t *Table) owner(k *Kind) string {
	for i := range t.groups {
		for j := range t.groups[i].Kinds {
			if &t.groups[i].Kinds[j] == k {
				return t.groups[i].Name
			}
		}
	}
	return ""
}

// each calls f with each row of each version of the table, even if the version lacks the kind.
func (t *Table) each(f func(schema.GroupVersion, *Kind)) {
	for i := range t.groups {
		g := &t.groups[i]
		for _, v := range g.Versions {
			for _, k := range t.Rows(g) {
				f(schema.GroupVersion{Group: g.Name, Version: v.Name}, k)
			}
		}
	}
}

// removed tells whether a version of Kubernetes no longer serves a kind. The Go type of the kind has the version of its
// removal.
func (t *Table) removed(gvk schema.GroupVersionKind, kubernetes *version.Version) bool {
	obj, err := t.scheme.New(gvk)
	if err != nil {
		return false // the version never had the kind
	}
	life, ends := obj.(interface {
		APILifecycleRemoved() (major, minor int)
	})
	if !ends {
		return strings.Contains(gvk.Version, "alpha") // the first kinds with a v1beta1 don't declare the removal of their alpha versions
	}
	major, minor := life.APILifecycleRemoved()
	return kubernetes.AtLeast(version.MajorMinor(uint(major), uint(minor)))
}
