package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
)

// APIGroup is what a server installs: the storages of a group's enabled versions.
type APIGroup struct {
	Name string
	// Versions that serve something, in order of preference.
	Versions []schema.GroupVersion
	// Storage by version and by resource, subresources as "resource/subresource".
	Storage map[string]map[string]rest.Storage
}

// Build opens the storage of every enabled resource of the table, once for all the
// versions that serve it.
func (t *Table) Build(enabled serverstorage.APIResourceConfigSource, deps Dependencies) ([]APIGroup, error) {
	b := builder{table: t, enabled: enabled, deps: deps, stores: map[*Kind]*Storage{}, built: map[*Kind]map[string]rest.Storage{}}
	b.deps.storeOf, b.deps.resourceOf = b.storeOf, b.resourceOf
	var groups []APIGroup
	for i := range t.groups {
		g, err := b.group(&t.groups[i])
		if err != nil {
			return nil, err
		}
		if len(g.Versions) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

type builder struct {
	table   *Table
	enabled serverstorage.APIResourceConfigSource
	deps    Dependencies
	stores  map[*Kind]*Storage
	built   map[*Kind]map[string]rest.Storage
}

// storeOf is the storage of a row that another row needs, enabled or not.
func (b *builder) storeOf(resource schema.GroupResource) (*Storage, error) {
	if k := b.table.row(resource); k != nil {
		return b.store(k)
	}
	return nil, fmt.Errorf("there is no row for %s", resource)
}

func (b *builder) resourceOf(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	if g := b.table.group(gvk.Group); g != nil {
		for _, k := range b.table.rows(g) {
			if k.kindName() == gvk.Kind {
				return gvk.GroupVersion().WithResource(k.Resource), true
			}
		}
	}
	if b.deps.CustomResource == nil {
		return schema.GroupVersionResource{}, false
	}
	return b.deps.CustomResource(gvk)
}

// store opens the one store of a row.
func (b *builder) store(k *Kind) (*Storage, error) {
	if s, ok := b.stores[k]; ok {
		return s, nil
	}
	group, versions := b.owner(k)
	s, err := newStorage(group, newStrategy(b.table.scheme, k, versions), b.deps)
	if err != nil {
		return nil, err
	}
	b.stores[k] = s
	return s, nil
}

func (b *builder) group(g *Group) (APIGroup, error) {
	out := APIGroup{Name: g.Name, Storage: map[string]map[string]rest.Storage{}}
	for _, v := range g.Versions {
		gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
		served := map[string]rest.Storage{}
		for _, k := range b.table.rows(g) {
			if !b.table.scheme.Recognizes(gv.WithKind(k.kindName())) || !b.enabled.ResourceEnabled(gv.WithResource(k.Resource)) {
				continue
			}
			storages, err := b.kind(k)
			if err != nil {
				return APIGroup{}, err
			}
			for path, s := range storages {
				served[path] = s
			}
		}
		if len(served) > 0 {
			out.Versions = append(out.Versions, gv)
			out.Storage[v.Name] = served
		}
	}
	return out, nil
}

// kind opens a row's storage and those of its subresources, by path.
func (b *builder) kind(k *Kind) (map[string]rest.Storage, error) {
	if s, ok := b.built[k]; ok {
		return s, nil
	}
	storages := map[string]rest.Storage{}
	var main *Storage
	if k.List != nil {
		var err error
		if main, err = b.store(k); err != nil {
			return nil, err
		}
		storages[k.Resource] = main
	}
	if k.Storage != nil {
		// It comes before the subresources: these copy what it sets in the store.
		s, err := k.Storage(main, b.deps)
		if err != nil {
			return nil, fmt.Errorf("storage of %s: %w", k.Resource, err)
		}
		storages[k.Resource] = s
	}
	if k.Status {
		storages[k.Resource+"/status"] = newStatus(main)
	}
	for _, sub := range k.Subresources {
		s, err := sub.Storage(main, b.deps)
		if err != nil {
			return nil, fmt.Errorf("storage of %s/%s: %w", k.Resource, sub.Name, err)
		}
		storages[k.Resource+"/"+sub.Name] = s
	}
	if k.Answer != nil {
		storages[k.Resource] = &answer{kind: k, to: k.Answer(b.deps)}
	}
	b.built[k] = storages
	return storages, nil
}

// owner is the group whose row it is, and every group version that serves it.
func (b *builder) owner(k *Kind) (string, []schema.GroupVersion) {
	var group string
	var versions []schema.GroupVersion
	for i := range b.table.groups {
		g := &b.table.groups[i]
		for j := range g.Kinds {
			if &g.Kinds[j] == k {
				group = g.Name
			}
		}
		for _, row := range b.table.rows(g) {
			if row != k {
				continue
			}
			for _, v := range g.Versions {
				versions = append(versions, schema.GroupVersion{Group: g.Name, Version: v.Name})
			}
		}
	}
	return group, versions
}
