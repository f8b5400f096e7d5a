package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// Scheme returns the scheme with all versions of all kinds. "__internal" has the Go types of the hub: the version to
// which all other versions convert. The caller must not change the scheme.
func (t *Table) Scheme() *runtime.Scheme { return t.scheme }

// Codecs returns the serializers of Scheme: JSON, YAML and protobuf, and CBOR if the feature gate
// CBORServingAndStorage is on. Call it only after the flags are parsed, because a flag sets the gate.
func (t *Table) Codecs() serializer.CodecFactory {
	if utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage) {
		return t.cborCodecs()
	}
	return t.codecs()
}

// ParameterCodec returns the codec that decodes query parameters. It also decodes the options of connect
// subresources.
func (t *Table) ParameterCodec() runtime.ParameterCodec { return runtime.NewParameterCodec(t.scheme) }

// codecOptions returns the options that k8s.io/apiserver uses for its own groups. With them, the server encodes a list
// item by item.
func codecOptions() []serializer.CodecFactoryOptionsMutator {
	return []serializer.CodecFactoryOptionsMutator{
		serializer.WithStreamingCollectionEncodingToJSON(),
		serializer.WithStreamingCollectionEncodingToProtobuf(),
	}
}

// fillScheme registers the Go types of all groups. It begins with the versions of all groups, because the hub of a
// group may use types of another group.
func (t *Table) fillScheme() error {
	metav1.AddToGroupVersion(t.scheme, schema.GroupVersion{Version: "v1"})
	for i := range t.groups {
		if err := t.addVersions(&t.groups[i]); err != nil {
			return fmt.Errorf("registering the types of group %q: %w", t.groups[i].Name, err)
		}
	}
	for i := range t.groups {
		if err := t.checkTypes(&t.groups[i]); err != nil {
			return err
		}
	}
	var functions []conversion.Function
	var pairs []conversion.Pair
	for i := range t.groups {
		g := &t.groups[i]
		t.addHub(g)
		if err := t.addRows(g); err != nil {
			return fmt.Errorf("registering the kinds of group %q: %w", g.Name, err)
		}
		pairs = append(pairs, t.pairs(g)...)
		functions = append(functions, g.Conversions...)
		for _, k := range g.Kinds {
			if k.Canonical != nil {
				functions = append(functions, conversion.Canonical(k.Object, k.Canonical))
				t.canonical[reflect.TypeOf(k.Object)] = k.Canonical
			}
		}
	}
	return conversion.Register(t.scheme, pairs, functions)
}

// watchEvent is the kind of the events of a watch. Each version has the kind, together with the types of query
// parameters.
const watchEvent = "WatchEvent"

func (t *Table) addVersions(g *Group) error {
	var priority []schema.GroupVersion
	for _, v := range g.Versions {
		gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
		t.scheme.AddKnownTypes(gv, v.Types...)
		if v.AddToScheme != nil {
			if err := v.AddToScheme(t.scheme); err != nil {
				return err
			}
		}
		if v.AddValidations != nil {
			if err := v.AddValidations(t.scheme); err != nil {
				return err
			}
		}
		if !t.scheme.Recognizes(gv.WithKind(watchEvent)) {
			metav1.AddToGroupVersion(t.scheme, gv) // an AddToScheme that isn't from k8s.io/api may leave this out
		}
		priority = append(priority, gv)
	}
	return t.scheme.SetVersionPriority(priority...)
}

// checkTypes checks that at least one version of a group registers the Go types of each of the group's own rows. It
// must come before addHub, which registers these types under the version "__internal".
func (t *Table) checkTypes(g *Group) error {
	for _, k := range g.Kinds {
		for _, obj := range []runtime.Object{k.Object, k.List} {
			if obj == nil {
				continue
			}
			if gvks, _, err := t.scheme.ObjectKinds(obj); err != nil || !slices.ContainsFunc(gvks, func(gvk schema.GroupVersionKind) bool { return gvk.Group == g.Name }) {
				return fmt.Errorf("no version of group %q registers %T: in group.go, Types or AddToScheme of a version of the group must have the type", g.Name, obj)
			}
		}
	}
	return nil
}

// addHub registers the Go types of the hub under the version "__internal": the types of the rows that t.Rows returns,
// and Group.Types. If Group.Kinds isn't empty, the hub also has the types of the first version for kinds without a row.
func (t *Table) addHub(g *Group) {
	internal := g.hub()
	for _, k := range t.Rows(g) {
		t.scheme.AddKnownTypes(internal, k.Object)
		if k.List != nil {
			t.scheme.AddKnownTypes(internal, k.List)
		}
	}
	t.scheme.AddKnownTypes(internal, g.Types...)
	if len(g.Kinds) == 0 {
		return
	}
	preferred := schema.GroupVersion{Group: g.Name, Version: g.Versions[0].Name}
	for name, typ := range t.scheme.KnownTypes(preferred) {
		if !t.scheme.Recognizes(internal.WithKind(name)) && !ofEveryVersion(typ) {
			t.scheme.AddKnownTypeWithName(internal.WithKind(name), reflect.New(typ).Interface().(runtime.Object))
		}
	}
}

// addRows registers the defaults, the field selectors and the query options of the group's kinds.
func (t *Table) addRows(g *Group) error {
	for i := range g.Kinds {
		for _, d := range g.Kinds[i].Defaults {
			if err := d.check(); err != nil {
				return err
			}
			t.scheme.AddTypeDefaultingFunc(d.Object, d.set)
		}
		for _, sub := range g.Kinds[i].Subresources {
			if err := addQuery(t.scheme, sub.Options); err != nil {
				return err
			}
		}
	}
	for _, k := range t.Rows(g) {
		for _, v := range g.Versions {
			gvk := schema.GroupVersionKind{Group: g.Name, Version: v.Name, Kind: k.KindName()}
			convert := k.fieldLabelConversion(gvk)
			if convert == nil || !t.scheme.Recognizes(gvk) {
				continue
			}
			if err := t.scheme.AddFieldLabelConversionFunc(gvk, convert); err != nil {
				return err
			}
		}
	}
	return nil
}

// pairs returns a Pair for each version of each kind of a group, unless the version and the hub have the same Go
// type for the kind.
func (t *Table) pairs(g *Group) []conversion.Pair {
	var pairs []conversion.Pair
	hub := t.scheme.KnownTypes(g.hub())
	for _, v := range g.Versions {
		for name, typ := range t.scheme.KnownTypes(schema.GroupVersion{Group: g.Name, Version: v.Name}) {
			if h, ok := hub[name]; ok && h != typ && !ofEveryVersion(typ) {
				pairs = append(pairs, conversion.Pair{Hub: h, Version: typ})
			}
		}
	}
	return pairs
}

// hub returns the group version GROUP/__internal. The scheme has the hub (the version to which all other versions
// convert) under this name.
func (g *Group) hub() schema.GroupVersion {
	return schema.GroupVersion{Group: g.Name, Version: runtime.APIVersionInternal}
}

// ofEveryVersion reports whether a type is registered in every group version, as ListOptions is.
func ofEveryVersion(typ reflect.Type) bool {
	return strings.HasPrefix(typ.PkgPath(), "k8s.io/apimachinery/")
}
