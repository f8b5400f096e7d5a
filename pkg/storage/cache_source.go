package storage

import (
	"context"
	"strconv"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// pastSource fills a watch cache with the objects at an earlier revision, and then with the events since. If the list
// at that revision fails, for example because etcd has compacted the revision, pastSource uses the newest objects.
type pastSource struct {
	storage.Interface
	begin  uint64       // the earlier revision; 0 for the newest objects, and after the first list
	failed *atomic.Bool // set by the store's notingCodec
}

// IsWatchListSemanticsUnSupported makes the cache's reflector list before it watches.
func (s *pastSource) IsWatchListSemanticsUnSupported() bool { return true }

// GetList implements storage.Interface. Only the cache's reflector calls it.
func (s *pastSource) GetList(ctx context.Context, key string, opts storage.ListOptions, out runtime.Object) error {
	begin := s.begin
	s.begin = 0
	if begin != 0 {
		past := opts
		past.ResourceVersion, past.ResourceVersionMatch = strconv.FormatUint(begin, 10), metav1.ResourceVersionMatchExact
		if err := s.Interface.GetList(ctx, key, past, out); err == nil {
			return nil
		}
	}
	return s.Interface.GetList(ctx, key, opts, out)
}

// Watch implements storage.Interface. Only the cache's reflector calls it.
//
// If an event couldn't be decoded, for example because a conversion webhook doesn't answer, Watch returns an error.
// The error makes the reflector list again: the list fails, the cache reports the failure to its clients, and the
// reflector retries once a second. Without the error, the reflector would repeat the watch from the same revision
// for half a minute, without a pause.
func (s *pastSource) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if s.failed.Swap(false) {
		return nil, apierrors.NewResourceExpired("an object can't be decoded")
	}
	return s.Interface.Watch(ctx, key, opts)
}

// notingCodec is a codec that counts the objects that it decodes, and sets failed to true if it can't decode an object.
type notingCodec struct {
	runtime.Codec
	decoded atomic.Int64
	failed  atomic.Bool
}

// Decode implements runtime.Decoder.
func (c *notingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := c.Codec.Decode(data, defaults, into)
	if err != nil {
		c.failed.Store(true)
	} else {
		c.decoded.Add(1)
	}
	return obj, kind, err
}

// promptStore is the store from which a watch cache is filled. When the cache reads etcd's revision, promptStore
// makes the hub send that revision to the cache's watch. Therefore, the cache doesn't have to wait for a progress
// request.
type promptStore struct {
	storage.Interface
	hub *hub
	key string // the prefix of the keys that the cache watches
}

// GetCurrentResourceVersion implements storage.Interface.
func (s *promptStore) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	revision, err := s.Interface.GetCurrentResourceVersion(ctx)
	if err == nil {
		s.hub.need(s.key, int64(revision))
	}
	return revision, err
}

// RequestWatchProgress implements storage.Interface. A cache waits for its own watch alone, so the hub doesn't tell the
// watches of other resources, unless some watch has gone to etcd's own watcher.
func (s *promptStore) RequestWatchProgress(ctx context.Context) error {
	if s.hub.usesInner() {
		return s.Interface.RequestWatchProgress(ctx)
	}
	s.hub.need(s.key, 0)
	return nil
}
