package storedmetadata

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/ondemand"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// relistPeriod is the pause after an error. Then all objects are listed again.
const relistPeriod = time.Second

// eventsPrefix is the key prefix of events, which Source leaves out: an event has no owner and owns nothing.
const eventsPrefix = "/events/"

// Source calls a handler with the metadata of every stored object other than events, and with every change. It has a
// goroutine only while there are changes.
type Source struct {
	keys     *storage.Keys
	stream   *storage.Stream
	root     string
	prefixes map[schema.GroupResource]string

	// handler and synced are set before the start of the worker. The worker alone uses watch.
	handler objects.Handler
	synced  func()
	watch   *storage.StreamWatch
	// reached is an etcd revision. The handler has been called with all changes up to it.
	reached condition.Variable[int64]

	mu     sync.Mutex
	worker *ondemand.Worker // nil before the call of Follow
	reach  func() int64
}

var _ objects.Source = &Source{}

// New returns a source of the objects whose keys are below root. The argument prefixes has the key prefixes of
// resources below root. The key prefix of any other resource is its group and name.
func New(keys *storage.Keys, root string, prefixes map[schema.GroupResource]string) *Source {
	return &Source{keys: keys, stream: keys.Stream(root + "/"), root: root, prefixes: prefixes}
}

// Count counts the objects of a resource in a namespace. If the namespace is empty, it counts all objects of the
// resource.
func (s *Source) Count(ctx context.Context, resource schema.GroupResource, namespace string) (int64, error) {
	prefix, ok := s.prefixes[resource]
	if !ok {
		prefix = path.Join(resource.Group, resource.Resource)
	}
	return s.keys.Count(ctx, s.root+path.Join("/", prefix, namespace)+"/")
}

// Follow implements objects.Source. It must be called once.
func (s *Source) Follow(ctx context.Context, handler objects.Handler, synced func()) {
	s.handler, s.synced = handler, sync.OnceFunc(synced)
	worker := ondemand.New(ctx, s.work, s.stop)
	s.mu.Lock()
	s.worker = worker
	s.mu.Unlock()
	worker.Notify()
}

// work handles new changes.
func (s *Source) work(ctx context.Context) {
	if err := s.follow(ctx); err != nil && ctx.Err() == nil {
		utilruntime.HandleErrorWithContext(ctx, err, "the metadata of all objects is listed again")
		time.AfterFunc(relistPeriod, s.started().Notify)
	}
}

// stop ends the watch, if there is one.
func (s *Source) stop() {
	if s.watch != nil {
		s.watch.Stop()
	}
}

// started returns the worker, or nil before the call of Follow.
func (s *Source) started() *ondemand.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker
}

// Wait returns after the last call of the handler, soon after the end of Follow's context.
func (s *Source) Wait() {
	if worker := s.started(); worker != nil {
		worker.Wait()
	}
}

// follow lists all objects at first and after an error. Otherwise, it handles the changes since the last call.
func (s *Source) follow(ctx context.Context) (err error) {
	if s.watch == nil {
		return s.list(ctx)
	}
	changes, revision, err := s.watch.Take()
	if err != nil {
		s.watch.Stop()
		s.watch = nil
		return err
	}
	for _, change := range changes {
		s.tell(ctx, change)
	}
	s.reached.Update(func(reached *int64) { *reached = max(*reached, revision) })
	return nil
}

func (s *Source) list(ctx context.Context) error {
	all := sets.New[types.UID]()
	revision, err := s.stream.List(ctx, func(stored storage.Stored) {
		if uid := s.tell(ctx, stored); uid != "" {
			all.Insert(uid)
		}
	})
	if err != nil {
		return err
	}
	s.handler.Listed(all)
	if s.watch, err = s.stream.Watch(revision, s.started().Notify); err != nil {
		return err
	}
	s.mu.Lock()
	s.reach = s.watch.Reach
	s.mu.Unlock()
	s.reached.Update(func(reached *int64) { *reached = max(*reached, revision) })
	s.synced()
	return nil
}

// tell calls the handler with a stored value, and returns the UID of the object. For an event, and for a value that
// isn't an object, it doesn't call the handler and returns "".
func (s *Source) tell(ctx context.Context, stored storage.Stored) types.UID {
	if strings.HasPrefix(stored.Key[len(s.root):], eventsPrefix) {
		return ""
	}
	object, err := decode(stored.Value)
	switch {
	case err != nil:
		utilruntime.HandleErrorWithContext(ctx, err, "the metadata of an object can't be decoded", "key", stored.Key)
	case object.UID == "": // the value isn't an object of the API
	case stored.Deleted:
		s.handler.Deleted(object)
	default:
		s.handler.Stored(object)
	}
	return object.UID
}

var errUnfollowed = errors.New("the metadata of the stored objects isn't read yet")

// Settle implements objects.Source.
func (s *Source) Settle(ctx context.Context) error {
	s.mu.Lock()
	reach := s.reach
	s.mu.Unlock()
	if reach == nil {
		return errUnfollowed
	}
	revision := reach()
	return s.reached.Wait(ctx, func(reached int64) bool { return reached >= revision })
}
