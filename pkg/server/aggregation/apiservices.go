package aggregation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// managedLabel marks an APIService that the server writes and deletes by itself. The value managedOnStart is for
// built-in APIs, and managedAlways for APIs of CustomResourceDefinitions.
const (
	managedLabel   = "kube-aggregator.kubernetes.io/automanaged"
	managedOnStart = "onstart"
	managedAlways  = "true"
)

// Writer writes APIServices without admission, because no user has requested the writes.
type Writer interface {
	CreateAPIService(context.Context, *apiregistrationv1.APIService) error
	UpdateAPIService(ctx context.Context, live, updated *apiregistrationv1.APIService) error
	DeleteAPIService(ctx context.Context, name string) error
}

// BuiltIn returns the APIService of a group version that is built in.
func BuiltIn(gv schema.GroupVersion, groupPriority, versionPriority int32) *apiregistrationv1.APIService {
	return localAPIService(gv, managedOnStart, groupPriority, versionPriority)
}

// Custom returns the APIService of a group version of CustomResourceDefinitions.
func Custom(gv schema.GroupVersion) *apiregistrationv1.APIService {
	return localAPIService(gv, managedAlways, registry.CustomGroupPriority, registry.CustomVersionPriority)
}

func localAPIService(gv schema.GroupVersion, managed string, groupPriority, versionPriority int32) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group, Labels: map[string]string{managedLabel: managed}},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: groupPriority, VersionPriority: versionPriority,
		},
	}
}

// local writes the APIServices of this server's own APIs. Writing them takes long compared with a start, and few
// clients read them. So local writes them when a client first requests APIServices, and keeps them up to date from then
// on.
type local struct {
	apiServices cache.Store
	writer      Writer

	// changes counts events after which the stored APIServices may differ from the wanted ones: deletions, edits and
	// calls of CustomChanged. keptAt is the value of changes at the last write without an error, and -1 before the first
	// such write.
	changes, keptAt atomic.Int64
	// used is true after the first request for APIServices.
	used atomic.Bool

	// builtIn has the APIServices of the built-in APIs, and custom returns the present ones of custom resources.
	builtIn []*apiregistrationv1.APIService
	custom  func() []*apiregistrationv1.APIService

	writing sync.Mutex
	mu      sync.Mutex
	// failed is the error of the last write, or nil.
	failed error
}

// builtInHas tells whether a group version is built in.
func (l *local) builtInHas(gv schema.GroupVersion) bool {
	return slices.ContainsFunc(l.builtIn, func(s *apiregistrationv1.APIService) bool { return groupVersionOf(s) == gv })
}

// SetOwn sets the APIServices of the built-in APIs, and a function that returns the present ones of custom resources. It
// must be called before Start.
func (a *Aggregator) SetOwn(builtIn []*apiregistrationv1.APIService, custom func() []*apiregistrationv1.APIService) {
	a.local.builtIn, a.local.custom = builtIn, custom
}

// CustomChanged tells that the APIServices of the custom resources have changed. It returns before they are written,
// because the caller handles events that must not wait. A client's request for APIServices waits until they are written.
func (a *Aggregator) CustomChanged() {
	l := &a.local
	l.changes.Add(1)
	if l.used.Load() { // a client may already watch APIServices
		a.runner.Go(func() { l.use(a.life) })
	}
}

func (l *local) use(ctx context.Context) {
	if l.keptAt.Load() == l.changes.Load() {
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.used.Store(true)
	// Another request may have written the APIServices while this request waited for the lock.
	if l.keptAt.Load() != l.changes.Load() {
		l.write(ctx)
	}
}

// deleted records the deletion of an APIService. If the APIService was for an API of this server itself, the next
// request for APIServices writes the APIService again.
func (l *local) deleted() { l.changes.Add(1) }

// changed handles a new or changed APIService. If a client has edited the spec of an APIService of custom resources,
// but not the label managedLabel, changed restores the spec. Edits of an APIService of a built-in API stay until the
// next start.
func (a *Aggregator) changed(s *apiregistrationv1.APIService) {
	l := &a.local
	if !l.used.Load() {
		return
	}
	if slices.ContainsFunc(l.custom(), func(want *apiregistrationv1.APIService) bool {
		return want.Name == s.Name && edited(s, want, managedAlways)
	}) {
		l.changes.Add(1)
		a.runner.Go(func() { l.use(a.life) })
	}
}

// edited reports whether the spec of the stored APIService (have) differs from the spec that this server writes (want).
// It returns false if want is nil, or if the label managedLabel of one of them isn't the argument "managed".
func edited(have, want *apiregistrationv1.APIService, managed string) bool {
	return want != nil && want.Labels[managedLabel] == managed && have.Labels[managedLabel] == managed &&
		!apiequality.Semantic.DeepEqual(have.Spec, want.Spec)
}

// write changes the stored APIServices to the wanted APIServices. After an error, the next request for APIServices
// tries again.
func (l *local) write(ctx context.Context) {
	changes, atStart := l.changes.Load(), l.keptAt.Load() < 0
	want := map[string]*apiregistrationv1.APIService{}
	for _, s := range slices.Concat(l.custom(), l.builtIn) {
		// As in kube-apiserver, the group apiregistration.k8s.io itself has no APIService.
		if s.Spec.Group != apiregistrationv1.GroupName {
			want[s.Name] = s
		}
	}
	var gone []string
	var errs []error
	for _, obj := range l.apiServices.List() {
		have := obj.(*apiregistrationv1.APIService)
		if want[have.Name] == nil && have.Spec.Service == nil && have.Labels[managedLabel] != "" {
			gone = append(gone, have.Name)
		}
		if edited(have, want[have.Name], managedAlways) || atStart && edited(have, want[have.Name], managedOnStart) {
			updated := have.DeepCopy()
			updated.Spec = want[have.Name].Spec
			if err := l.writer.UpdateAPIService(ctx, have, updated); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				errs = append(errs, err)
			}
		}
		delete(want, have.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if err := l.writer.CreateAPIService(ctx, want[name]); err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, err)
		}
	}
	for _, name := range gone {
		if err := l.writer.DeleteAPIService(ctx, name); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	err := utilerrors.NewAggregate(errs)
	l.mu.Lock()
	l.failed = err
	l.mu.Unlock()
	if err != nil {
		klog.FromContext(ctx).Error(err, "some APIServices of this server's own APIs could not be written; the next request for APIServices tries again")
		return
	}
	l.keptAt.Store(changes)
}

// unwritten returns an error if the last write of the APIServices of this server's own APIs failed, and no earlier
// write succeeded. There is no error before the first write.
func (l *local) unwritten() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil || l.keptAt.Load() >= 0 {
		return nil
	}
	return fmt.Errorf("some APIServices of this server's own APIs aren't stored yet: %w", l.failed)
}
