package registry

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// APIGroup has the storages of a group's enabled versions, in the form in which k8s.io/apiserver installs them.
type APIGroup struct {
	Name string
	// Versions are the versions that serve a resource, in order of preference.
	Versions []schema.GroupVersion
	// Storage maps each version to its resources, and each resource to its storage. A subresource is written
	// "resource/subresource".
	Storage map[string]map[string]rest.Storage
}

// Build makes the storages of all enabled resources of the table. The versions of a resource share one storage.
func (t *Table) Build(enabled serverstorage.APIResourceConfigSource, deps Dependencies) ([]APIGroup, error) {
	stores := t.Stores(deps)
	var groups []APIGroup
	for i := range t.groups {
		g, err := stores.group(&t.groups[i], enabled)
		if err != nil {
			return nil, err
		}
		if len(g.Versions) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// Stores has the storages of a table's rows (see Kind). Stores opens a storage when the server, or the storage of
// another row, first needs it.
type Stores struct {
	table  *Table
	deps   Dependencies
	opened map[*Kind]*Storage
	served map[*Kind]map[string]rest.Storage
}

// Stores returns the storages of the table's rows. No storage is open yet.
func (t *Table) Stores(deps Dependencies) *Stores {
	s := &Stores{table: t, deps: deps, opened: map[*Kind]*Storage{}, served: map[*Kind]map[string]rest.Storage{}}
	s.deps.StoreOf, s.deps.ResourceOf = s.Of, s.resourceOf
	return s
}

// Of returns the storage of a resource. It opens the storage even if the resource isn't served.
func (s *Stores) Of(resource schema.GroupResource) (*Storage, error) {
	k := s.table.Row(resource)
	if k == nil {
		return nil, fmt.Errorf("the table of kinds has no resource %s", resource)
	}
	return s.open(k)
}

// Served returns the storages of a resource and its subresources. The key is the path, such as "pods" or
// "pods/status".
func (s *Stores) Served(resource schema.GroupResource) (map[string]rest.Storage, error) {
	k := s.table.Row(resource)
	if k == nil {
		return nil, fmt.Errorf("the table of kinds has no resource %s", resource)
	}
	return s.serve(k)
}

// Destroy closes all storages that are open.
func (s *Stores) Destroy() {
	for _, store := range s.opened {
		store.Destroy()
	}
}

func (s *Stores) resourceOf(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	if g := s.table.group(gvk.Group); g != nil {
		for _, k := range s.table.Rows(g) {
			if k.KindName() == gvk.Kind {
				return gvk.GroupVersion().WithResource(k.Resource), true
			}
		}
	}
	if s.deps.CustomResource == nil {
		return schema.GroupVersionResource{}, false
	}
	return s.deps.CustomResource(gvk)
}

func (s *Stores) open(k *Kind) (*Storage, error) {
	if store, ok := s.opened[k]; ok {
		return store, nil
	}
	store, err := newStorage(s.table.owner(k), s.table.Strategy(k, s.deps))
	if err != nil {
		return nil, err
	}
	s.opened[k] = store
	return store, nil
}

func (s *Stores) group(g *Group, enabled serverstorage.APIResourceConfigSource) (APIGroup, error) {
	out := APIGroup{Name: g.Name, Storage: map[string]map[string]rest.Storage{}}
	for _, v := range g.Versions {
		gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
		served := map[string]rest.Storage{}
		for _, k := range s.table.Rows(g) {
			if !s.table.scheme.Recognizes(gv.WithKind(k.KindName())) || !enabled.ResourceEnabled(gv.WithResource(k.Resource)) {
				continue
			}
			storages, err := s.serve(k)
			if err != nil {
				return APIGroup{}, err
			}
			maps.Copy(served, storages)
			for _, sub := range k.Subresources {
				off := sub.Feature != "" && !s.deps.Enabled(sub.Feature)
				if off || len(sub.Through) > 0 && !slices.Contains(sub.Through, gv) {
					delete(served, k.Resource+"/"+sub.Name)
				}
			}
			if slices.Contains(k.ReturnDeletedThrough, gv) {
				served[k.Resource] = s.opened[k].returningDeleted()
			}
		}
		if len(served) > 0 {
			out.Versions = append(out.Versions, gv)
			out.Storage[v.Name] = served
		}
	}
	return out, nil
}

func (s *Stores) serve(k *Kind) (map[string]rest.Storage, error) {
	if served, ok := s.served[k]; ok {
		return served, nil
	}
	storages := map[string]rest.Storage{}
	var main *Storage
	if k.stored() {
		var err error
		if main, err = s.open(k); err != nil {
			return nil, err
		}
		storages[k.Resource] = main
	}
	if k.Storage != nil {
		// The function Storage of the row is called first, because it may change the storage that the subresources
		// use.
		own, err := k.Storage(main, s.deps)
		if err != nil {
			return nil, fmt.Errorf("making the storage of %s: %w", k.Resource, err)
		}
		storages[k.Resource] = own
	}
	if k.Status {
		storages[k.Resource+"/status"] = newStatus(main)
	}
	for _, sub := range k.Subresources {
		part, err := sub.serve(main, s.deps)
		if err != nil {
			return nil, fmt.Errorf("making the storage of %s/%s: %w", k.Resource, sub.Name, err)
		}
		storages[k.Resource+"/"+sub.Name] = part
	}
	if k.Answer != nil {
		storages[k.Resource] = &answer{kind: k, to: k.Answer(s.deps)}
	}
	if k.Compute != nil {
		storages[k.Resource] = &computed{TableConvertor: printers.TableConvertor(k.printer()), kind: k, list: k.Compute(s.deps)}
	}
	s.served[k] = storages
	return storages, nil
}

func (r Subresource) serve(main *Storage, deps Dependencies) (rest.Storage, error) {
	if r.Update == nil {
		return r.Storage(main, deps)
	}
	part := main.Part(r.Update(main.Strategy))
	if r.Wrap == nil {
		return part, nil
	}
	return r.Wrap(part, main.Strategy)
}
