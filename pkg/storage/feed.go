package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
)

// Feed gives informers in the same process the objects of a resource, and their changes. It reads the objects from
// the resource's store, or with a Decoder from etcd, and the changes from the hub. Unlike a watch, a feed needs neither
// a watch cache nor a goroutine, and its events come earlier. The objects have the type to which the store's codec or
// the Decoder decodes.
type Feed struct {
	hub                  *hub
	client               *kubernetes.Client
	store                storage.Interface
	prefix, key          string // the resource's prefix in the store, and in etcd
	newFunc, newListFunc func() runtime.Object
	codec                runtime.Codec
	decoder              etcd3.Decoder
	transformer          value.Transformer
	// other is the decoder that the caller gave to Decoding, or nil.
	other *Decoder
}

// Decoder makes objects from stored values, in place of the store's codec. A caller uses a Decoder to skip the reading
// and the decoding, or to get another type. The Decoder must set the resource version of each object to the revision.
type Decoder struct {
	// Known returns the object that is stored at a key and was written at a revision, or nil if the caller doesn't have
	// it. The key is the part below the resource's prefix. Only List calls Known.
	Known func(key string, revision int64) runtime.Object
	// Decode decodes a stored value.
	Decode func(data []byte, revision int64) (runtime.Object, error)
}

// Feed returns the feed from which informers read the objects of a resource. It returns nil if the member has no store
// of the resource.
func (m *Member) Feed(resource schema.GroupResource) *Feed { return m.feeds.get(resource) }

// Decoding returns a feed of the same resource that uses the caller's decoder in place of the store's codec.
func (f *Feed) Decoding(d Decoder) *Feed {
	decoding := *f
	decoding.other = &d
	return &decoding
}

// Decode decodes the value that is stored at a revision, as the store does.
func (f *Feed) Decode(data []byte, revision int64) (runtime.Object, error) {
	object := f.newFunc()
	err := f.decoder.Decode(data, object, revision)
	return object, err
}

// List returns all objects, and the revision at which they were listed.
func (f *Feed) List(ctx context.Context) ([]runtime.Object, int64, error) {
	if f.other != nil {
		return f.listDecoding(ctx)
	}
	list := f.newListFunc()
	if err := f.store.GetList(ctx, f.prefix, storage.ListOptions{Recursive: true, Predicate: storage.Everything}, list); err != nil {
		return nil, 0, err
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return nil, 0, err
	}
	listMeta, err := meta.ListAccessor(list)
	if err != nil {
		return nil, 0, err
	}
	revision, err := strconv.ParseInt(listMeta.GetResourceVersion(), 10, 64)
	return objects, revision, err
}

// listDecoding lists with the decoder that the caller gave to Decoding. If the decoder's function Known returns all
// objects, listDecoding doesn't read the values from etcd.
func (f *Feed) listDecoding(ctx context.Context) ([]runtime.Object, int64, error) {
	listed, err := f.client.KV.Get(ctx, f.key, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, 0, err
	}
	revision, all := listed.Header.Revision, true
	objects := make([]runtime.Object, len(listed.Kvs))
	for i, kv := range listed.Kvs {
		objects[i] = f.other.Known(strings.TrimPrefix(string(kv.Key), f.key), kv.ModRevision)
		all = all && objects[i] != nil
	}
	if all {
		return objects, revision, nil
	}
	// A read at the revision of the first read has the same keys in the same order. So objects[i] is the object of
	// found.Kvs[i].
	found, err := f.client.KV.Get(ctx, f.key, clientv3.WithPrefix(), clientv3.WithRev(revision))
	if err != nil {
		return nil, 0, err
	}
	for i, kv := range found.Kvs {
		if objects[i] != nil {
			continue
		}
		if objects[i], err = f.object(ctx, kv, kv.ModRevision); err != nil {
			return nil, 0, fmt.Errorf("decoding %s at revision %d: %w", kv.Key, kv.ModRevision, err)
		}
	}
	return objects, revision, nil
}

// Encode encodes an object as the store does. It does not default, prepare or validate the object. Use it only for
// copies of objects that the store has defaulted, prepared and validated before.
func (f *Feed) Encode(obj runtime.Object) ([]byte, error) {
	if err := (storage.APIObjectVersioner{}).PrepareObjectForStorage(obj); err != nil {
		return nil, err
	}
	return runtime.Encode(f.codec, obj)
}

// Record returns the record of an object that Encode has encoded.
func (f *Feed) Record(ctx context.Context, namespace, name string, data []byte) (Record, error) {
	key := f.key + path.Join(namespace, name)
	stored, err := f.transformer.TransformToStorage(ctx, data, value.DefaultContext(key))
	return Record{key: key, value: stored}, err
}

// Watch begins a watch of the changes after a revision, which comes from a recent List. The watch calls notify when
// FeedWatch.Take has events to return, and when the watch ends. notify must not block.
func (f *Feed) Watch(revision int64, notify func()) (*FeedWatch, error) {
	w := newHubWatch(f.key, clientv3.GetPrefixRangeEnd(f.key), revision+1, notify)
	if !f.hub.follow(w) {
		return nil, fmt.Errorf("watch of %s: etcd has dropped events since revision %d: list the objects again", f.key, revision)
	}
	return &FeedWatch{feed: f, watch: w}, nil
}

// FeedWatch is a watch of a feed. Its methods must not be called concurrently.
type FeedWatch struct {
	feed  *Feed
	watch *hubWatch
}

// Take returns the events since the last call. A deleted object has the revision of its deletion as resource
// version. After an error, events are missing: stop the watch and list the feed again.
func (w *FeedWatch) Take(ctx context.Context) ([]watch.Event, error) {
	select {
	case <-w.watch.ended:
		return nil, fmt.Errorf("the watch of %s has ended: list the objects again", w.feed.key)
	default:
	}
	taken, _ := w.watch.take()
	events := make([]watch.Event, 0, len(taken))
	for _, e := range taken {
		event, err := w.feed.event(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("event of %s at revision %d: %w", e.Kv.Key, e.Kv.ModRevision, err)
		}
		events = append(events, event)
	}
	return events, nil
}

// Stop ends the watch.
func (w *FeedWatch) Stop() { w.feed.hub.leave(w.watch) }

func (f *Feed) event(ctx context.Context, e *clientv3.Event) (watch.Event, error) {
	kind, stored := watch.Modified, e.Kv
	switch {
	case e.Type == clientv3.EventTypeDelete:
		kind, stored = watch.Deleted, e.PrevKv
	case e.IsCreate():
		kind = watch.Added
	}
	if stored == nil {
		return watch.Event{}, errors.New("the event of a deletion doesn't have the deleted object")
	}
	object, err := f.object(ctx, stored, e.Kv.ModRevision)
	if err != nil {
		return watch.Event{}, err
	}
	return watch.Event{Type: kind, Object: object}, nil
}

// object decodes a stored value. The object gets the argument revision as its resource version.
func (f *Feed) object(ctx context.Context, stored *mvccpb.KeyValue, revision int64) (runtime.Object, error) {
	data, _, err := f.transformer.TransformFromStorage(ctx, stored.Value, value.DefaultContext(stored.Key))
	if err != nil {
		return nil, err
	}
	if f.other != nil {
		return f.other.Decode(data, revision)
	}
	return f.Decode(data, revision)
}

// feeds has the feeds of a member's stores. The zero value is ready for use.
type feeds struct {
	mu         sync.Mutex
	byResource map[schema.GroupResource]*Feed
}

func (f *feeds) get(resource schema.GroupResource) *Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byResource[resource]
}

func (f *feeds) add(resource schema.GroupResource, feed *Feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byResource == nil {
		f.byResource = map[schema.GroupResource]*Feed{}
	}
	f.byResource[resource] = feed
}

func (f *feeds) remove(resource schema.GroupResource, feed *Feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byResource[resource] == feed {
		delete(f.byResource, resource)
	}
}
