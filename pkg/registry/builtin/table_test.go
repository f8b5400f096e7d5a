package builtin_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/generatedopenapi"
)

// served returns the kinds of a row, one for each group version that serves it.
func served(k *registry.Kind) []schema.GroupVersionKind {
	var gvks []schema.GroupVersionKind
	table := builtin.Table().Groups()
	for i := range table {
		g := &table[i]
		if !slices.Contains(builtin.Table().Rows(g), k) {
			continue
		}
		for _, v := range g.Versions {
			gvk := schema.GroupVersionKind{Group: g.Name, Version: v.Name, Kind: k.KindName()}
			if builtin.Table().Scheme().Recognizes(gvk) {
				gvks = append(gvks, gvk)
			}
		}
	}
	return gvks
}

// eachRow runs a test for each row of the table.
func eachRow(t *testing.T, test func(*testing.T, *registry.Group, *registry.Kind)) {
	t.Helper()
	table := builtin.Table().Groups()
	for i := range table {
		g := &table[i]
		for j := range g.Kinds {
			t.Run(schema.GroupResource{Group: g.Name, Resource: g.Kinds[j].Resource}.String(), func(t *testing.T) {
				t.Parallel()
				test(t, g, &g.Kinds[j])
			})
		}
	}
}

// through returns the context of a request to a group version, in the namespace "ns".
func through(gv schema.GroupVersion) context.Context {
	ctx := genericapirequest.WithNamespace(context.Background(), "ns")
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: gv.Group, APIVersion: gv.Version})
}

func TestTableTypes(t *testing.T) {
	t.Parallel()
	definitions := generatedopenapi.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} })
	eachRow(t, func(t *testing.T, _ *registry.Group, k *registry.Kind) {
		if _, err := meta.Accessor(k.Object); err != nil {
			t.Errorf("%T has no metadata: %v", k.Object, err)
		}
		if _, err := meta.ListAccessor(k.List); k.List != nil && err != nil {
			t.Errorf("%T has no list metadata: %v", k.List, err)
		}
		if k.List == nil && (k.Status || k.Printer != nil || k.Hooks != nil || k.Fields != nil) {
			t.Error("the kind is never stored, but its row has fields for stored kinds")
		}
		if k.List == nil && k.Answer == nil && k.Storage == nil {
			t.Error("the row has neither storage nor answers")
		}
		if !k.Status && (k.StatusKeepsMetadata || k.StatusOnCreate || k.StatusResets != nil) {
			t.Error("the row has no status, but fields for its status")
		}
		gvks := served(k)
		if len(gvks) == 0 {
			t.Fatal("no version has the kind")
		}
		for _, gvk := range gvks {
			types := []schema.GroupVersionKind{gvk}
			if k.List != nil {
				types = append(types, gvk.GroupVersion().WithKind(gvk.Kind+"List"))
			}
			for _, gvk := range types {
				obj, err := builtin.Table().Scheme().New(gvk)
				if err != nil {
					t.Error(err)
					continue
				}
				if _, found := definitions[util.GetCanonicalTypeName(obj)]; !found {
					t.Errorf("%v: no OpenAPI definition of %T: add // +k8s:openapi-gen=true to the types and run make update", gvk, obj)
				}
			}
		}
	})
}

// TestTableNames checks that no two kinds of a group share a name, and that no two kinds of the table share a short
// name or a storage prefix.
func TestTableNames(t *testing.T) {
	t.Parallel()
	owners := map[string]map[string]string{}
	claim := func(what, name, owner string) {
		if owners[what] == nil {
			owners[what] = map[string]string{}
		}
		if other, taken := owners[what][name]; taken {
			t.Errorf("%s %q belongs to both %s and %s", what, name, owner, other)
		}
		owners[what][name] = owner
	}
	table := builtin.Table().Groups()
	for i := range table {
		g := &table[i]
		claim("group", g.Name, g.Name)
		for _, k := range builtin.Table().Rows(g) {
			owner := schema.GroupResource{Group: g.Name, Resource: k.Resource}.String()
			claim("resource of "+g.Name, k.Resource, owner)
			claim("singular of "+g.Name, k.SingularName(), owner)
			claim("kind of "+g.Name, k.KindName(), owner)
		}
		for j := range g.Kinds {
			k := &g.Kinds[j]
			owner := schema.GroupResource{Group: g.Name, Resource: k.Resource}.String()
			if k.List != nil {
				claim("storage prefix", builtin.Table().StoragePrefixes()[schema.GroupResource{Group: g.Name, Resource: k.Resource}], owner)
			}
			for _, name := range k.ShortNames {
				claim("short name", name, owner)
			}
			subresources := []string{}
			if k.Status {
				subresources = append(subresources, "status")
			}
			for _, s := range k.Subresources {
				subresources = append(subresources, s.Name)
			}
			for _, s := range subresources {
				claim("subresource of "+owner, s, owner)
			}
		}
		for _, b := range g.Borrowed {
			if !slices.ContainsFunc(builtin.Table().Rows(g), func(k *registry.Kind) bool { return k.Resource == b.Resource }) {
				t.Errorf("%q borrows %v, but no group has that resource", g.Name, b)
			}
		}
	}
}

// TestTableVersions checks that each version of each kind converts to the hub and back, and that each version in
// OrphanThrough and in Through of a subresource serves the kind. The hub is the version to which all other versions convert.
func TestTableVersions(t *testing.T) {
	t.Parallel()
	eachRow(t, func(t *testing.T, _ *registry.Group, k *registry.Kind) {
		gvks := served(k)
		for _, gvk := range gvks {
			obj, err := builtin.Table().Scheme().New(gvk)
			if err != nil {
				t.Fatal(err)
			}
			builtin.Table().Scheme().Default(obj)
			hub, err := builtin.Table().Scheme().ConvertToVersion(obj, schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
			if err != nil {
				t.Errorf("%v to the hub: %v", gvk, err)
				continue
			}
			if reflect.TypeOf(hub) != reflect.TypeOf(k.Object) {
				t.Errorf("the hub of %v is %T, want %T", gvk, hub, k.Object)
			}
			if _, err := builtin.Table().Scheme().ConvertToVersion(hub, gvk.GroupVersion()); err != nil {
				t.Errorf("%v from the hub: %v", gvk, err)
			}
		}
		serves := func(field string, versions []schema.GroupVersion) {
			for _, gv := range versions {
				if !slices.ContainsFunc(gvks, func(gvk schema.GroupVersionKind) bool { return gvk.GroupVersion() == gv }) {
					t.Errorf("%s names %v, but that version doesn't serve the row", field, gv)
				}
			}
		}
		serves("OrphanThrough", k.OrphanThrough)
		for _, sub := range k.Subresources {
			serves("Through of "+sub.Name, sub.Through)
		}
	})
}

// TestTableHooks checks that the hooks and the fields of each row are for the row's Go type, and that they don't
// panic for an object that has only defaults.
func TestTableHooks(t *testing.T) {
	t.Parallel()
	eachRow(t, func(t *testing.T, _ *registry.Group, k *registry.Kind) {
		if k.List == nil {
			t.Skip("never stored")
		}
		for _, gvk := range served(k) {
			ctx := through(gvk.GroupVersion())
			s := builtin.Table().Strategy(k, registry.Dependencies{})
			obj, old := registry.NewOf(k.Object)(), registry.NewOf(k.Object)()
			builtin.Table().Scheme().Default(obj)
			builtin.Table().Scheme().Default(old)
			s.PrepareForCreate(ctx, obj)
			s.PrepareForCreate(ctx, old)
			s.Validate(ctx, obj)
			s.WarningsOnCreate(ctx, obj)
			s.PrepareForUpdate(ctx, obj, old)
			s.ValidateUpdate(ctx, obj, old)
			s.WarningsOnUpdate(ctx, obj, old)
			if k.Status {
				status := registry.StatusStrategy{Strategy: s}
				status.PrepareForUpdate(ctx, obj, old)
				status.ValidateUpdate(ctx, obj, old)
				status.WarningsOnUpdate(ctx, obj, old)
			}
			if got, want := registry.MetaOf(obj).GetGeneration(), registry.MetaOf(old).GetGeneration(); got != want {
				t.Errorf("%v: an update without changes results in generation %d, want %d", gvk, got, want)
			}
			if _, _, err := k.Attributes(obj); err != nil {
				t.Errorf("%v: attributes: %v", gvk, err)
			}
		}
	})
}
