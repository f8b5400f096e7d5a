package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
)

// Feed is the objects of a resource's store and their changes, for informers in the same process. A feed needs neither
// a watch cache nor a goroutine, and its events come before those of watches. The objects have the type that the
// store's codec decodes to.
type Feed struct {
	hub                  *hub
	store                storage.Interface
	prefix, key          string // the prefix of the resource, and the key of its objects in etcd
	newFunc, newListFunc func() runtime.Object
	codec                runtime.Codec
	decoder              etcd3.Decoder
	transformer          value.Transformer
}

// Feed returns the feed of a resource whose store has been made, or nil.
func (m *Member) Feed(resource schema.GroupResource) *Feed { return m.feeds.get(resource) }

// List returns all objects and the revision of the list.
func (f *Feed) List(ctx context.Context) ([]runtime.Object, int64, error) {
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

// Record encodes an object as the store would write it. Record neither prepares nor validates the object, nor sets
// defaults: it is for copies of objects that have been through that.
func (f *Feed) Record(ctx context.Context, namespace, name string, obj runtime.Object) (Record, error) {
	if err := (storage.APIObjectVersioner{}).PrepareObjectForStorage(obj); err != nil {
		return Record{}, err
	}
	data, err := runtime.Encode(f.codec, obj)
	if err != nil {
		return Record{}, err
	}
	key := f.key + path.Join(namespace, name)
	stored, err := f.transformer.TransformToStorage(ctx, data, value.DefaultContext(key))
	return Record{key, stored}, err
}

// Watch returns the events after the revision of a recent list, until the watch is stopped. Watch calls notify when
// there are events to take, and at the end. notify must not block.
func (f *Feed) Watch(revision int64, notify func()) (*FeedWatch, error) {
	w := newHubWatch(f.key, clientv3.GetPrefixRangeEnd(f.key), revision+1, notify)
	if !f.hub.follow(w) {
		return nil, fmt.Errorf("etcd has dropped events since revision %d", revision)
	}
	return &FeedWatch{feed: f, watch: w}, nil
}

// FeedWatch is a watch of a feed. It isn't safe for concurrent use.
type FeedWatch struct {
	feed  *Feed
	watch *hubWatch
}

// Take returns the events since the last call. The object of a deletion has the deletion's resource version. After an
// error there are no more events: list the feed again.
func (w *FeedWatch) Take(ctx context.Context) ([]watch.Event, error) {
	select {
	case <-w.watch.ended:
		return nil, errors.New("the watch has ended")
	default:
	}
	taken, _ := w.watch.take()
	events := make([]watch.Event, 0, len(taken))
	for _, e := range taken {
		event, err := w.feed.event(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s at revision %d: %w", e.Kv.Key, e.Kv.ModRevision, err)
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
		return watch.Event{}, fmt.Errorf("the deleted object is unknown")
	}
	data, _, err := f.transformer.TransformFromStorage(ctx, stored.Value, value.DefaultContext(e.Kv.Key))
	if err != nil {
		return watch.Event{}, err
	}
	object := f.newFunc()
	if err := f.decoder.Decode(data, object, e.Kv.ModRevision); err != nil {
		return watch.Event{}, err
	}
	return watch.Event{Type: kind, Object: object}, nil
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
