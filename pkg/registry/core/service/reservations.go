package service

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
)

// reservations make sure that no two services have the same cluster IP or the same node port. Each reservation is
// an entry in etcd with the address or the port as its key. etcd lets only one writer add an entry, so any number
// of requests and servers can make reservations at the same time.
//
// An entry is written before its service, and removed after its service. If a server crashes in between, the entry
// belongs to no service: it is abandoned. A later request that looks for a free key takes it over.
type reservations struct {
	ledger
	services *genericregistry.Store
	// uses reports whether a service uses the address or the port that is the key of an entry.
	uses func(service *corev1.Service, key string) bool
	// unused maps the keys of anonymous entries that no service uses to the time when a request has found that first.
	unused sync.Map
}

// ledger stores the entries of reservations.
type ledger interface {
	// add adds an entry for key, held by a service. If the key has an entry, the error is errReserved.
	add(ctx context.Context, key string, owner types.NamespacedName) error
	// get returns the entry of key, or nil. With cached, the entry may be outdated for a moment.
	get(ctx context.Context, key string, cached bool) (*reservation, error)
	// remove removes the entry of key. If certain isn't nil, remove keeps an entry that is newer than certain.
	remove(ctx context.Context, key string, certain *reservation) error
}

// reservation is an entry of a ledger: one address or port that is reserved.
type reservation struct {
	// owner is the service that holds the entry. If it is the zero value, another object holds the entry, and the
	// entry is never abandoned.
	owner types.NamespacedName
	// anonymous is true if the ledger doesn't know the owner and the time of the entry.
	anonymous       bool
	since           metav1.Time
	uid             types.UID
	resourceVersion string
}

// Errors of reservations. Clients see some of them, with kube-apiserver's texts.
var (
	errReserved     = errors.New("already reserved")
	errNoneIsLeft   = errors.New("range is full")
	errIPReserved   = errors.New("provided IP is already allocated")
	errPortReserved = errors.New("provided port is already allocated")
)

// writeTime bounds the time from a reservation to the write of its service. It is twice the default of
// --request-timeout.
const writeTime = 2 * time.Minute

// reserve adds an entry for key. It returns false if the service has the entry already, from an earlier attempt.
func (r *reservations) reserve(ctx context.Context, key string, owner types.NamespacedName) (added bool, err error) {
	// If the key has an entry, the first attempt fails. The second attempt succeeds if another request has removed
	// the entry meanwhile, or if the entry is abandoned: the loop then removes it.
	for range 2 {
		if err := r.add(ctx, key, owner); !errors.Is(err, errReserved) {
			r.unused.Delete(key)
			return err == nil, err
		}
		entry, err := r.get(ctx, key, false)
		if err != nil {
			return false, err
		}
		if entry == nil {
			continue
		}
		used, err := r.used(ctx, key, entry, false)
		switch {
		case err != nil:
			return false, err
		case used:
			return false, errReserved
		case entry.owner == owner:
			return false, nil
		case !entry.old():
			return false, errReserved
		}
		if err := r.remove(ctx, key, entry); err != nil {
			return false, err
		}
	}
	return false, errReserved
}

// reserveAny reserves the first free key. If no key is free, it takes over the first abandoned one.
func (r *reservations) reserveAny(ctx context.Context, keys iter.Seq[string], owner types.NamespacedName) (string, error) {
	for _, abandoned := range []bool{false, true} {
		for key := range keys {
			free, err := r.looksFree(ctx, key, abandoned)
			if err != nil {
				return "", err
			}
			if !free {
				continue
			}
			if _, err := r.reserve(ctx, key, owner); err == nil {
				return key, nil
			} else if !errors.Is(err, errReserved) {
				return "", err
			}
		}
	}
	return "", errNoneIsLeft
}

// looksFree reports whether a key is free or, if abandoned is true, has an entry that no service uses. It reads the
// cache, which may be outdated. So reserveAny avoids most of the attempts that would fail.
func (r *reservations) looksFree(ctx context.Context, key string, abandoned bool) (bool, error) {
	entry, err := r.get(ctx, key, true)
	if err != nil || entry == nil {
		return true, err
	}
	if !abandoned || !entry.old() {
		return false, nil
	}
	used, err := r.used(ctx, key, entry, true)
	return !used, err
}

// release removes the entry of a service, unless the stored service uses the key.
func (r *reservations) release(ctx context.Context, key string, owner types.NamespacedName) error {
	entry, err := r.get(ctx, key, false)
	if err != nil || entry == nil || !entry.anonymous && entry.owner != owner {
		return err
	}
	used, err := r.used(ctx, key, &reservation{owner: owner}, false)
	if err != nil || used {
		return err
	}
	return r.remove(ctx, key, nil)
}

// used reports whether the owner of an entry exists and uses the key. An entry that no service owns counts as used.
func (r *reservations) used(ctx context.Context, key string, entry *reservation, cached bool) (bool, error) {
	if entry.anonymous {
		return r.usedByAny(ctx, key, cached)
	}
	if entry.owner == (types.NamespacedName{}) {
		return true, nil
	}
	options := &metav1.GetOptions{}
	if cached {
		options.ResourceVersion = "0"
	}
	found, err := r.services.Get(genericapirequest.WithNamespace(ctx, entry.owner.Namespace), entry.owner.Name, options)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return r.uses(found.(*corev1.Service), key), nil
}

// usedByAny reports whether any service uses a key, or may use it soon: a request that has made the entry may not have
// written its service yet.
func (r *reservations) usedByAny(ctx context.Context, key string, cached bool) (bool, error) {
	options := &metainternalversion.ListOptions{}
	if cached {
		options.ResourceVersion = "0"
	}
	list, err := r.services.List(genericapirequest.WithNamespace(ctx, metav1.NamespaceAll), options)
	if err != nil {
		return false, err
	}
	services := list.(*corev1.ServiceList).Items
	if slices.ContainsFunc(services, func(s corev1.Service) bool { return r.uses(&s, key) }) {
		r.unused.Delete(key)
		return true, nil
	}
	first, _ := r.unused.LoadOrStore(key, time.Now())
	return time.Since(first.(time.Time)) <= writeTime, nil
}

// old reports whether the request that made the entry must have ended by now.
func (e *reservation) old() bool { return time.Since(e.since.Time) > writeTime }
