package registry

import (
	"cmp"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/version"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/component-base/featuregate"
)

// Table has the groups of kinds that a server serves, besides custom resources, and their scheme. A table doesn't
// change, so several servers can share it.
type Table struct {
	groups []Group
	scheme *runtime.Scheme
	// codecs makes the codecs without CBOR, and cborCodecs makes the codecs with CBOR. A feature gate selects one
	// of them. The gate may change between two servers that run one after the other in a process, so the table
	// keeps both. The first call makes the codecs.
	codecs, cborCodecs func() serializer.CodecFactory
	// canonical has Kind.Canonical for the Go types of the hub.
	canonical map[reflect.Type]func(runtime.Object) error
}

// NewTable makes a table of groups. It returns an error if the versions, the defaults, the fields or the
// conversions of a group can't be registered.
func NewTable(groups ...Group) (*Table, error) {
	t := &Table{groups: groups, scheme: runtime.NewScheme(), canonical: map[reflect.Type]func(runtime.Object) error{}}
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

// Groups returns the groups, in the order in which NewTable got them. The caller must not change them.
func (t *Table) Groups() []Group { return t.groups }

// DefaultAPIs returns the group versions that are served by default. The flag --runtime-config changes them.
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

// LegacyAPIs returns the resources that the key "api/legacy" of --runtime-config stands for. k8s.io/api still has
// their versions, but a kube-apiserver of the emulated version of Kubernetes no longer serves them.
func (t *Table) LegacyAPIs(kubernetes *version.Version) []schema.GroupVersionResource {
	var legacy []schema.GroupVersionResource
	t.each(func(gv schema.GroupVersion, k *Kind) {
		if t.removed(gv.WithKind(k.KindName()), kubernetes) {
			legacy = append(legacy, gv.WithResource(k.Resource))
		}
	})
	return legacy
}

// Prototypes returns an empty object of each enabled kind, by resource. It leaves out the kinds that the version of
// Kubernetes no longer has. The objects have the Go types of the hub: the version to which all other versions convert.
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

// WithoutFeature returns the resources that aren't served because their feature gate is off.
func (t *Table) WithoutFeature(gates featuregate.FeatureGate) []schema.GroupVersionResource {
	var off []schema.GroupVersionResource
	t.each(func(gv schema.GroupVersion, k *Kind) {
		if k.Feature != "" && !gates.Enabled(k.Feature) {
			off = append(off, gv.WithResource(k.Resource))
		}
	})
	return off
}

// HasResource reports whether the table has a resource in a version, even if it isn't served.
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

// HasKind reports whether a kind is that of a resource. It isn't for a kind that only subresources have, such as Scale.
func (t *Table) HasKind(kind schema.GroupKind) bool {
	g := t.group(kind.Group)
	return g != nil && slices.ContainsFunc(t.Rows(g), func(k *Kind) bool { return k.KindName() == kind.Kind })
}

// CustomGroupPriority and CustomVersionPriority are the priorities of each group version of custom resources. Clients
// prefer group versions by their priorities, so the groups of the table have higher ones. The values are
// kube-apiserver's.
const (
	CustomGroupPriority   = 1000
	CustomVersionPriority = 100
)

// Priority returns the priorities of a group and of its version (see Group.Priority and Version.Priority). It returns 0
// if the table doesn't have them.
func (t *Table) Priority(gv schema.GroupVersion) (group, version int32) {
	g := t.group(gv.Group)
	if g == nil {
		return 0, 0
	}
	group = cmp.Or(g.Priority, CustomGroupPriority)
	for i, v := range g.Versions {
		switch {
		case v.Name != gv.Version:
			continue
		case v.Priority == 0 && i == 0:
			return group, 15
		case v.Priority == 0:
			return group, 9
		}
		return group, v.Priority
	}
	return group, 0
}

// StoragePrefixes returns the path of each resource in etcd, below the prefix of all objects.
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

// Cohabiting returns the resources that several groups serve from one store. The group that owns the kind comes
// first.
func (t *Table) Cohabiting() [][]schema.GroupResource {
	var out [][]schema.GroupResource
	for _, g := range t.groups {
		for _, b := range g.Borrowed {
			out = append(out, []schema.GroupResource{b, {Group: g.Name, Resource: b.Resource}})
		}
	}
	return out
}

// StoredInJSON returns the resources that are stored in JSON: their rows say so, or their Go types have no protobuf
// encoding.
func (t *Table) StoredInJSON() []schema.GroupResource {
	var out []schema.GroupResource
	for i := range t.groups {
		g := &t.groups[i]
		for _, k := range t.Rows(g) {
			if _, encodes := k.Object.(runtime.ProtobufMarshaller); (k.StoredInJSON || !encodes) && k.stored() {
				out = append(out, schema.GroupResource{Group: g.Name, Resource: k.Resource})
			}
		}
	}
	return out
}

// group returns the group with the name, or nil.
func (t *Table) group(name string) *Group {
	for i := range t.groups {
		if t.groups[i].Name == name {
			return &t.groups[i]
		}
	}
	return nil
}

// Row returns the row of a resource, or nil. The resource must name the group that owns the kind.
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

// Rows returns the rows of the kinds that a group serves: the rows of its own kinds and of the kinds that it
// borrows.
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

// Versions returns the group versions that have a kind, even if --runtime-config turns them off.
func (t *Table) Versions(k *Kind) []schema.GroupVersion {
	var versions []schema.GroupVersion
	t.each(func(gv schema.GroupVersion, row *Kind) {
		if row == k && t.scheme.Recognizes(gv.WithKind(k.KindName())) {
			versions = append(versions, gv)
		}
	})
	return versions
}

// Strategy returns the Strategy of a kind.
func (t *Table) Strategy(k *Kind, deps Dependencies) Strategy {
	var versions []schema.GroupVersion
	t.each(func(gv schema.GroupVersion, row *Kind) {
		if row == k {
			versions = append(versions, gv)
		}
	})
	return Strategy{
		ObjectTyper: t.scheme, NameGenerator: names.SimpleNameGenerator, Kind: k.on(deps.gates()), Versions: versions,
		scheme: t.scheme, deps: deps,
		gates: gatesOff(k.Gated, deps.gates()), shapeGates: gatesOff(k.shapeGates(), deps.gates()),
	}
}

// Reads reports whether a kind depends on a feature gate.
func (t *Table) Reads(feature featuregate.Feature) bool {
	reads := false
	t.each(func(_ schema.GroupVersion, k *Kind) { reads = reads || k.reads(feature) })
	return reads
}

// owner returns the name of the group that has the row of a kind. Other groups may serve the kind too.
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

// each calls f for each row in each version of its group, even if the version doesn't have the kind.
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

// removed reports whether a version of Kubernetes no longer serves a kind. The Go type of the kind may declare the
// version of Kubernetes that removes the kind.
func (t *Table) removed(gvk schema.GroupVersionKind, kubernetes *version.Version) bool {
	obj, err := t.scheme.New(gvk)
	if err != nil {
		return false // this version of the group doesn't have the kind
	}
	if g := t.group(gvk.Group); slices.ContainsFunc(g.Versions, func(v Version) bool { return v.Name == gvk.Version && v.Removed }) {
		return true
	}
	life, ends := obj.(interface {
		APILifecycleRemoved() (major, minor int)
	})
	if !ends {
		return false
	}
	major, minor := life.APILifecycleRemoved()
	return kubernetes.AtLeast(version.MajorMinor(uint(major), uint(minor)))
}
