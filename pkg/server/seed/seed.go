// Package seed stores what every cluster has in an etcd that has nothing yet, while the rest of the server is built. It
// also writes objects of the server itself past filters and admission.
//
// [Seeder] and [NewWriter] are the way in. Don't use the package for what a user asks for, which admission must judge,
// nor when the etcd may have objects: package bootstrap ensures what every cluster has by requests.
package seed

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// workers is how many objects are prepared at once, which is work for the processors.
const workers = 8

// Seeder stores what every cluster has.
type Seeder struct {
	Writer *Writer
	// Member is the etcd. Only of an embedded one is known that it has nothing.
	Member *storage.Member
	// Copies are shared with other servers of the process. Those of servers with the same Settings, which are feature
	// gates and versions, are used.
	Copies   *Copies
	Settings string
	// Unreadable is told why objects that are stored can't be read.
	Unreadable func(error) error
}

// Seed stores what every cluster has, but for its Service, if nothing has been stored yet. Informers, which haven't
// started, find it in their first lists. Seed returns false if it has left the objects to requests: there are some, or
// an object is refused, which a request tells of.
func (s Seeder) Seed(ctx context.Context, config bootstrap.Config) (bool, error) {
	namespaces := s.Member.Feed(corev1.Resource("namespaces"))
	if namespaces == nil {
		return false, nil
	}
	stored, _, err := namespaces.List(ctx)
	if err != nil && s.Member.Healthy(ctx) == nil {
		return false, s.Unreadable(err) // etcd answers
	}
	if err != nil || len(stored) > 0 {
		return false, err
	}
	objects, err := bootstrap.Objects(config)
	if err != nil {
		return false, err
	}
	records := make([]storage.Record, len(objects))
	group, recordCtx := errgroup.WithContext(ctx)
	for first := range workers {
		// A goroutine for each object would grow its stack first.
		group.Go(func() (err error) {
			for i := first; i < len(objects) && err == nil; i += workers {
				records[i], err = s.record(recordCtx, objects[i])
			}
			return err
		})
	}
	if err := group.Wait(); bootstrap.IsRefusal(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := s.Member.Create(ctx, records); errors.Is(err, storage.ErrExists) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// record returns an object as it would be stored: as another server has made it, or else as a dry run makes it.
func (s Seeder) record(ctx context.Context, given runtime.Object) (storage.Record, error) {
	where, err := s.Writer.placeOf(given)
	if err != nil {
		return storage.Record{}, err
	}
	resource := where.resource()
	feed := s.Member.Feed(resource.GroupResource())
	if feed == nil {
		return storage.Record{}, fmt.Errorf("%s aren't stored", resource.GroupResource())
	}
	key := copyKey{s.Settings, where}
	object := s.Copies.get(key, given)
	if object == nil {
		if object, err = s.Writer.Create(ctx, given, metav1.DryRunAll); err != nil {
			return storage.Record{}, fmt.Errorf("%s %s: %w", where.kind.Kind, where.name, err)
		}
		s.Copies.add(key, given, object)
	}
	return feed.Record(ctx, where.namespace, where.name, object)
}
