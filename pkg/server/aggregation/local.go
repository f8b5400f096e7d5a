package aggregation

import (
	"context"
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
)

// managedLabel marks an APIService as one that the server keeps, with these values for its built-in
// APIs and for those of CustomResourceDefinitions.
const (
	managedLabel   = "kube-aggregator.kubernetes.io/automanaged"
	managedOnStart = "onstart"
	managedAlways  = "true"
)

// The priorities of group versions by which clients order them: custom resources have these from
// kube-apiserver, whose own groups are far above.
const (
	customGroupPriority   = 1000
	customVersionPriority = 100
)

// Writer writes APIServices without asking admission: nobody has asked for them.
type Writer interface {
	CreateAPIService(context.Context, *apiregistrationv1.APIService) error
	UpdateAPIService(ctx context.Context, live, updated *apiregistrationv1.APIService) error
	DeleteAPIService(ctx context.Context, name string) error
}

// BuiltIn is the APIService of a group version of the server's own.
func BuiltIn(gv schema.GroupVersion, groupPriority, versionPriority int32) *apiregistrationv1.APIService {
	return localAPIService(gv, managedOnStart, groupPriority, versionPriority)
}

// Custom is the APIService of a group version of CustomResourceDefinitions.
func Custom(gv schema.GroupVersion) *apiregistrationv1.APIService {
	return localAPIService(gv, managedAlways, customGroupPriority, customVersionPriority)
}

func localAPIService(gv schema.GroupVersion, managed string, groupPriority, versionPriority int32) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group, Labels: map[string]string{managedLabel: managed}},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: groupPriority, VersionPriority: versionPriority,
		},
	}
}

// local keeps the APIServices of what this server has itself. To write them takes as long as half of a start, and
// few ever look at them: they are written when somebody first does, and kept from then on.
type local struct {
	apiServices cache.Store
	writer      Writer

	// changes are how often one was deleted by whomever, or others were wanted, and keptAt how often that had been when
	// all was as it should be: one less than never to begin with.
	changes, keptAt atomic.Int64
	// used says that somebody has looked.
	used atomic.Bool

	writing sync.Mutex
	mu      sync.Mutex
	builtIn []*apiregistrationv1.APIService
	custom  []*apiregistrationv1.APIService
}

// builtInHas says whether the server has a group version of its own.
func (l *local) builtInHas(gv schema.GroupVersion) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.builtIn, func(s *apiregistrationv1.APIService) bool { return groupVersionOf(s) == gv })
}

// SetBuiltIn says what the server has of its own, before Start.
func (a *Aggregator) SetBuiltIn(services []*apiregistrationv1.APIService) {
	a.local.mu.Lock()
	defer a.local.mu.Unlock()
	a.local.builtIn = services
}

// SetCustom says which custom resources the server has. It doesn't wait for their APIServices, as who looks for them
// does: it is called where definitions are observed, and who waits for that isn't held up.
func (a *Aggregator) SetCustom(services []*apiregistrationv1.APIService) {
	l := &a.local
	l.mu.Lock()
	l.custom = services
	l.mu.Unlock()
	l.changes.Add(1)
	if l.used.Load() { // others may watch
		a.begin(func() { l.use(a.life) })
	}
}

func (l *local) use(ctx context.Context) {
	if l.keptAt.Load() == l.changes.Load() {
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.used.Store(true)
	if l.keptAt.Load() != l.changes.Load() { // nobody else has written meanwhile
		l.write(ctx)
	}
}

// deleted is told that an APIService is gone, which may have had the name of one that should be there: who looks
// next finds it.
func (l *local) deleted() { l.changes.Add(1) }

// changed is told of an APIService that is new or another than it was. Somebody may have edited it; of those that are
// kept on start that is theirs.
func (a *Aggregator) changed(s *apiregistrationv1.APIService) {
	l := &a.local
	if !l.used.Load() {
		return
	}
	l.mu.Lock()
	putBack := slices.ContainsFunc(l.custom, func(want *apiregistrationv1.APIService) bool {
		return want.Name == s.Name && edited(s, want, managedAlways)
	})
	l.mu.Unlock()
	if putBack {
		l.changes.Add(1)
		a.begin(func() { l.use(a.life) })
	}
}

// edited says whether an APIService isn't what the server wants it to be, and its to put back if it is managed so.
func edited(have, want *apiregistrationv1.APIService, managed string) bool {
	return want != nil && want.Labels[managedLabel] == managed && have.Labels[managedLabel] == managed &&
		!apiequality.Semantic.DeepEqual(have.Spec, want.Spec)
}

// write makes what is stored what it should be. What fails is tried again when somebody looks.
func (l *local) write(ctx context.Context) {
	changes, atStart := l.changes.Load(), l.keptAt.Load() < 0
	want := map[string]*apiregistrationv1.APIService{}
	l.mu.Lock()
	for _, s := range slices.Concat(l.custom, l.builtIn) {
		if s.Spec.Group != apiregistrationv1.GroupName { // which who looks for APIServices has found
			want[s.Name] = s
		}
	}
	l.mu.Unlock()
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
	if err := utilerrors.NewAggregate(errs); err != nil {
		klog.FromContext(ctx).Error(err, "the APIServices of this server's own APIs aren't all as they should be")
		return
	}
	l.keptAt.Store(changes)
}
