// Package capture stores objects that were read from a cluster as they are: with their UIDs, status, owner references,
// times, generations and managed fields. [Loader.Load] is the way in.
//
// Don't use the package for objects that clients write: it makes no requests, so neither admission nor validation sees
// the objects.
package capture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/server/snapshot"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Loader stores captured objects on a server with an embedded etcd.
type Loader struct {
	Member    *storage.Member
	Snapshots *snapshot.Snapshots
	// Mapper has the served kinds. Client reads custom resources, because the server makes their stores at the first
	// request.
	Mapper meta.RESTMapper
	Client dynamic.Interface
	// Apply makes requests that apply definitions.
	Apply func(context.Context, []manifests.Object) error
}

// Load stores objects, in place of those with the same names. Definitions come first. A definition that wasn't captured
// from a server, and so has no status, is applied. An object without a UID or a creation time gets one, and every object
// gets a new resource version.
func (l *Loader) Load(ctx context.Context, objects []manifests.Object) error {
	var applied, definitions, others []manifests.Object
	for _, object := range objects {
		_, captured := object.Object["status"]
		switch definition := manifests.IsDefinition(object.GroupVersionKind()); {
		case definition && captured:
			definitions = append(definitions, object)
		case definition:
			applied = append(applied, object)
		default:
			others = append(others, object)
		}
	}
	if len(applied) > 0 {
		if err := l.Apply(ctx, applied); err != nil {
			return err
		}
	}
	for _, together := range [][]manifests.Object{definitions, others} {
		if err := l.store(ctx, together); err != nil {
			return err
		}
	}
	return nil
}

// store stores objects whose kinds are served.
func (l *Loader) store(ctx context.Context, objects []manifests.Object) error {
	if len(objects) == 0 {
		return nil
	}
	records, err := l.records(ctx, objects)
	if err != nil {
		return err
	}
	now, err := l.Snapshots.Take(ctx)
	if err != nil {
		return err
	}
	return l.Snapshots.Restore(ctx, now.With(records))
}

// records returns the objects as they are stored.
func (l *Loader) records(ctx context.Context, objects []manifests.Object) ([]storage.Record, error) {
	var records []storage.Record
	var unserved []manifests.Object
	byKey, byUID := map[string]manifests.Object{}, map[types.UID]manifests.Object{}
	for _, object := range objects {
		record, err := l.record(ctx, object)
		if meta.IsNoMatchError(err) {
			unserved = append(unserved, object)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", describe(object), err)
		}
		uid := object.GetUID()
		same, found := byKey[record.Key()]
		if found && uid != "" && same.GetUID() == uid {
			continue // the same object in another version of its API
		}
		if found {
			return nil, fmt.Errorf("%s: %s has an object of the same name: leave one of them out", describe(object), same.Source)
		}
		if other, twice := byUID[uid]; twice && uid != "" {
			return nil, fmt.Errorf("%s: metadata.uid %s: %s has the same uid: leave one of them out", describe(object), uid, describe(other))
		}
		byKey[record.Key()], byUID[uid] = object, object
		records = append(records, record)
	}
	if len(unserved) > 0 {
		return nil, unknown(unserved)
	}
	return records, nil
}

// record returns an object as it is stored.
func (l *Loader) record(ctx context.Context, object manifests.Object) (storage.Record, error) {
	kind := object.GroupVersionKind()
	mapping, err := l.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return storage.Record{}, err
	}
	namespace := ""
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace = object.GetNamespace(); namespace == "" {
			namespace = metav1.NamespaceDefault
		}
	}
	feed, err := l.feed(ctx, mapping.Resource)
	if err != nil {
		return storage.Record{}, err
	}
	encoded, err := json.Marshal(complete(object.Unstructured, namespace))
	if err != nil {
		return storage.Record{}, err
	}
	stored, err := feed.Decode(encoded, 0)
	if err != nil {
		return storage.Record{}, cmp.Or(errors.Unwrap(err), err) // the outer error is about keys of etcd
	}
	data, err := feed.Encode(stored)
	if err != nil {
		return storage.Record{}, err
	}
	return feed.Record(ctx, namespace, object.GetName(), data)
}

// complete returns the object with the metadata that every stored object has.
func complete(object *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	stored := object.DeepCopy()
	stored.SetResourceVersion("")
	stored.SetNamespace(namespace)
	if stored.GetUID() == "" {
		stored.SetUID(uuid.NewUUID())
	}
	if created := stored.GetCreationTimestamp(); created.IsZero() {
		stored.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	}
	return stored
}

// feed returns the feed of a resource. The store of a custom resource, which has the feed, is made by the first request.
func (l *Loader) feed(ctx context.Context, resource schema.GroupVersionResource) (*storage.Feed, error) {
	if feed := l.made(resource.GroupResource()); feed != nil {
		return feed, nil
	}
	if _, err := l.Client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return nil, err
	}
	if feed := l.made(resource.GroupResource()); feed != nil {
		return feed, nil
	}
	return nil, errors.New("objects of the kind aren't stored: leave the object out")
}

// made returns the feed of a resource whose store is made, or nil. Some resources share a store, such as the events of
// two groups.
func (l *Loader) made(resource schema.GroupResource) *storage.Feed {
	for _, sharing := range l.Snapshots.Table.Cohabiting() {
		if !slices.Contains(sharing, resource) {
			continue
		}
		for _, other := range sharing {
			if feed := l.Member.Feed(other); feed != nil {
				return feed
			}
		}
	}
	return l.Member.Feed(resource)
}

// unknown returns the error about objects whose kinds aren't served, with the first object of each kind.
func unknown(objects []manifests.Object) error {
	var errs []error
	var kinds []schema.GroupVersionKind
	for _, object := range objects {
		if kind := object.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
			errs = append(errs, fmt.Errorf("%s: nothing serves the kind in %s: add its definition, or leave the objects of the kind out", describe(object), object.GetAPIVersion()))
		}
	}
	return errors.Join(errs...)
}

// describe names an object with its source.
func describe(object manifests.Object) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s: %s %s", object.Source, object.GetKind(), name)
}
