// Package seed stores the objects that every cluster has (namespaces, RBAC roles and so on) in an empty embedded etcd,
// while the rest of the server is built.
//
// [Seeder.Seed] stores the objects. Don't use the package for an etcd that may have objects: package bootstrap creates
// the objects of every cluster by requests. Don't use it for the objects that clients apply: see package kept.
package seed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// workers is the number of objects that are prepared at the same time. Preparing needs processor time only.
const workers = 8

// Seeder stores the objects that every cluster has, such as namespaces and RBAC roles, in an empty etcd.
type Seeder struct {
	Writer *direct.Writer
	// Member is the embedded etcd. There is no Seeder for an external etcd, which may have objects.
	Member *storage.Member
	// Copies are shared with other servers of the process. The Seeder uses the copies of servers with the same Settings
	// (feature gates and versions).
	Copies   *Copies
	Settings string
	// Unreadable wraps the error if stored objects can't be read.
	Unreadable func(error) error
}

// Seed stores the objects that every cluster has, except for the Service "kubernetes", if the etcd is empty. Informers
// start after Seed and find the objects in their first lists. Seed returns false if the etcd has namespaces or one of
// the objects, if the server doesn't serve namespaces, or if an object is refused. Then the caller must create the
// missing objects by requests, which return the reason of a refusal.
func (s Seeder) Seed(ctx context.Context, config bootstrap.Config) (bool, error) {
	namespaces := s.Member.Feed(corev1.Resource("namespaces"))
	if namespaces == nil {
		return false, nil
	}
	stored, _, err := namespaces.List(ctx)
	if err != nil && s.Member.Healthy(ctx) == nil {
		return false, s.Unreadable(err) // etcd has just answered, so the error is about the content
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
		// Each worker prepares several objects: a goroutine for each object would have to grow its stack each time.
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
	if err := s.Member.Keys().Create(ctx, records); errors.Is(err, storage.ErrExists) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// record returns an object in the form in which it is stored: a copy from Copies, or the result of a dry run that
// creates the object.
func (s Seeder) record(ctx context.Context, given runtime.Object) (storage.Record, error) {
	where, err := s.Writer.PlaceOf(given)
	if err != nil {
		return storage.Record{}, err
	}
	resource := where.Resource()
	feed := s.Member.Feed(resource.GroupResource())
	if feed == nil {
		return storage.Record{}, fmt.Errorf("%s %s: the embedded etcd doesn't store %s", where.Kind.Kind, where.Name, resource.GroupResource())
	}
	template, err := s.Copies.template(copyKey{s.Settings, where}, given, func() (storage.Template, error) {
		object, err := s.Writer.Create(ctx, given, metav1.DryRunAll)
		if err != nil {
			return storage.Template{}, fmt.Errorf("%s %s: %w", where.Kind.Kind, where.Name, err)
		}
		return storage.NewTemplate(object, feed.Encode)
	})
	if err != nil {
		return storage.Record{}, err
	}
	return feed.Record(ctx, where.Namespace, where.Name, template.Copy(uuid.NewUUID(), time.Now()))
}
