// Package kept keeps the objects that clients apply to a server right after its start. Later servers of the process with
// the same options store copies of these objects.
//
// [Keeper] has the functions, and [Sets] has the objects of the process. Don't use the package for an etcd that is
// external or has objects of clients. Don't use it for a server that reports each request, for example to an audit log:
// the Keeper makes no requests.
package kept

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Keeper keeps the objects that clients make on one server, and stores objects that were kept on an earlier server.
type Keeper struct {
	// Sets has the objects that the servers of the process have kept.
	Sets *Sets
	// Name is the name in Sets of the objects of this server. It must stand for everything that the stored objects depend on: the options of the
	// server, and the objects that clients apply. The Keeper doesn't compare objects.
	Name string
	// Keys are the keys of the embedded etcd, and Root is the prefix of all keys, without the slash at its end. The etcd
	// must not have encrypted objects, because the Keeper decodes them.
	Keys *storage.Keys
	Root string
	// Scheme has the types of the stored objects, except for custom resources.
	Scheme *runtime.Scheme
	// Written returns when a write of an object is in effect.
	Written func(resource schema.GroupResource, obj runtime.Object)

	found *set
	// since is the revision at which the server was ready.
	since int64
}

// Store stores copies of the objects of the set Name, if an earlier server has kept such a set. Each copy has a UID and
// times of its own. Store must be called before informers list the stored objects. It leaves webhook configurations and
// admission policies to Begin, because admission would otherwise apply them to the server's own requests during its
// start.
func (k *Keeper) Store(ctx context.Context) error {
	k.found = k.Sets.get(k.Name)
	records, _ := k.copies(func(object keptObject) bool { return !object.configures() })
	if err := k.Keys.Create(ctx, records); err != nil {
		return fmt.Errorf("storing the objects of an earlier server: %w", err)
	}
	return nil
}

// Begin is called when the server is ready. If an earlier server has kept a set of objects, Begin stores copies of the
// set's webhook configurations and admission policies, and waits until they are in effect. Otherwise, Keep keeps the
// objects that are created after Begin.
func (k *Keeper) Begin(ctx context.Context) (err error) {
	if k.found == nil {
		k.since, err = k.Keys.Revision(ctx)
		return err
	}
	records, resources := k.copies(keptObject.configures)
	if len(records) == 0 {
		return nil
	}
	changes := make([]storage.Change, len(records))
	for i, record := range records {
		changes[i] = record.Creation()
	}
	if err := k.Keys.Apply(ctx, changes); err != nil {
		return fmt.Errorf("storing the webhook configurations and admission policies of an earlier server: %w", err)
	}
	for i, change := range changes {
		k.Written(resources[i], &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(change.Revision, 10)},
		})
	}
	return nil
}

// copies returns copies of the set's objects for which wanted returns true, with their resources. If there is no set,
// it returns no copies.
func (k *Keeper) copies(wanted func(keptObject) bool) (records []storage.Record, resources []schema.GroupResource) {
	if k.found == nil {
		return nil, nil
	}
	for _, kept := range k.found.objects {
		if wanted(kept) {
			records = append(records, kept.With(kept.Copy(uuid.NewUUID(), time.Now())))
			resources = append(resources, kept.resource)
		}
	}
	return records, resources
}

// Keep keeps all objects that were created since Begin as a set, together with a note, which Note returns on a later
// server. It keeps nothing if there is already a set with the name, if an object from before Begin has been changed, or
// if one of the new objects expires or has an unknown encoding.
func (k *Keeper) Keep(ctx context.Context, note any) error {
	if k.found != nil || k.Sets.get(k.Name) != nil {
		return nil
	}
	records, alone, err := k.Keys.CreatedSince(ctx, k.Root+"/", k.since)
	if err != nil || !alone {
		return err
	}
	kept := &set{note: note}
	for _, record := range records {
		object, err := k.decode(record.Value())
		if err != nil {
			return nil //nolint:nilerr // clients apply these objects to each server
		}
		resource := resourceOf(object)
		template, err := storage.NewTemplate(object, k.encode)
		if err != nil {
			return err
		}
		kept.objects = append(kept.objects, keptObject{record.With(nil), template, resource})
		kept.size += template.Size()
	}
	k.Sets.add(k.Name, kept)
	return nil
}

// Note returns the note that an earlier server has kept together with the set of objects, or nil if Store has found no
// set.
func (k *Keeper) Note() any {
	if k.found == nil {
		return nil
	}
	return k.found.note
}

// protobufPrefix begins the stored values of built-in kinds. Custom resources are stored in JSON.
var protobufPrefix = []byte{'k', '8', 's', 0}

func (k *Keeper) decode(data []byte) (runtime.Object, error) {
	if bytes.HasPrefix(data, protobufPrefix) {
		object, _, err := protobuf.NewSerializer(k.Scheme, k.Scheme).Decode(data, nil, nil)
		return object, err
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(data)
}

func (k *Keeper) encode(object runtime.Object) ([]byte, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.MarshalJSON()
	}
	var data bytes.Buffer
	err := protobuf.NewSerializer(k.Scheme, k.Scheme).Encode(object, &data)
	return data.Bytes(), err
}

func resourceOf(object runtime.Object) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(object.GetObjectKind().GroupVersionKind())
	return plural.GroupResource()
}
