package registry

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// Group is an API group: its versions in order of preference, and its kinds.
type Group struct {
	// Name is the full name; the core group's is "".
	Name string
	// Versions, the preferred one first.
	Versions []Version
	// Kinds are the group's rows. Their Go types are the hub that every version converts
	// through: those of the preferred version, unless it doesn't have the kind, or not all of it.
	Kinds []Kind
	// Types are further types of the hub, which no row is made of.
	Types []runtime.Object
	// Conversions are those between versions and the hub that JSON can't bridge.
	Conversions []conversion.Function
	// Priority is the group's place among all groups, the highest first. Clients that look for a
	// resource by its name alone take that of the first group. Groups of custom resources have 1000.
	Priority int32
	// Borrowed are resources whose rows another group owns: every version of this
	// group that has the kind serves it too, from the same store, as
	// extensions/v1beta1 serves the deployments of apps.
	Borrowed []schema.GroupResource
}

// Version is one version of a group.
type Version struct {
	Name string
	// AddToScheme registers the version's Go types.
	AddToScheme func(*runtime.Scheme) error
	// OnDemand versions are served when --runtime-config asks for them.
	OnDemand bool
}

// Kind is one row of the table: a kind, and all that makes it differ from others.
type Kind struct {
	// Resource is the plural name, in lower case.
	Resource string
	// Singular defaults to the kind's name in lower case.
	Singular   string
	ShortNames []string
	Categories []string
	Namespaced bool

	// Object and List are prototypes of the hub's Go types. A List of nil says that
	// objects of this kind are never stored.
	Object, List runtime.Object

	// Defaults are what clients may leave out, for each version that has defaults, and for the
	// objects that subresources take.
	Defaults []Default
	// PodSpec is where the kind has a pod's spec, if it has one.
	PodSpec *PodSpec

	// StoragePrefix is where objects are kept below the etcd prefix. Its default is
	// the resource's name.
	StoragePrefix string

	// Hooks are the kind's own preparation, validation and warnings.
	Hooks Hooks
	// Fields are the field selectors that the kind supports besides metadata.name
	// and metadata.namespace.
	Fields Fields
	// Printer shows the kind as a table. Its default is Name and Age.
	Printer *printers.Printer

	// Status gives the kind a status subresource: the main endpoint then ignores
	// status, and the status endpoint everything else.
	Status bool
	// StatusKeepsMetadata makes the status endpoint leave metadata as it was, too.
	StatusKeepsMetadata bool
	// StatusOnCreate lets objects be created with a status, as nodes register with theirs.
	StatusOnCreate bool
	// Resets are fields besides status that the main endpoint leaves as they were and
	// an apply on it never owns, as dotted paths; StatusResets are the same for the
	// status endpoint, besides spec and what StatusKeepsMetadata says.
	Resets, StatusResets []string
	// Generation counts changes of the object's desired state in metadata.generation.
	Generation bool
	// CreateOnUpdate lets an update create what is not there.
	CreateOnUpdate bool
	// ConditionalUpdate refuses updates without a resourceVersion.
	ConditionalUpdate bool
	// OrphanThrough are the group versions through which a deletion that names no
	// propagation policy orphans dependents; through others it deletes them.
	OrphanThrough []schema.GroupVersion
	// NoDependents makes deletions take no propagation policy at all.
	NoDependents bool
	// ReturnDeleted makes a deletion answer with the object instead of a Status.
	ReturnDeleted bool

	// Gated are the kind's fields behind feature gates of kube-apiserver, besides those of PodSpec.
	Gated []Gate

	// TTL, if set, is how many seconds an object is kept.
	TTL func(Dependencies) uint64

	// Subresources other than status.
	Subresources []Subresource
	// Answer, for a kind that is never stored, makes an object of it a question.
	Answer func(Dependencies) AnswerFunc
	// Storage, where the kind needs more than the one storage, builds it. What it sets in the
	// given storage holds for the status subresource, and for Subresources, as well.
	Storage func(*Storage, Dependencies) (rest.Storage, error)
}

// Subresource is a named subresource of a row.
type Subresource struct {
	Name string
	// Options are the query parameters that it takes, or nil.
	Options runtime.Object
	// Update, for a part of the object, is how an update of the part changes the object, given the
	// strategy of the row.
	Update func(Strategy) UpdateStrategy
	// Storage builds what serves it, on the row's own storage. Without it the part can be read and updated.
	Storage func(*Storage, Dependencies) (rest.Storage, error)
}

// KindName is the name of the kind, which is that of its hub's Go type.
func (k *Kind) KindName() string { return reflect.TypeOf(k.Object).Elem().Name() }

// SingularName is the resource's name in the singular.
func (k *Kind) SingularName() string {
	if k.Singular != "" {
		return k.Singular
	}
	return strings.ToLower(k.KindName())
}

func (k *Kind) storagePrefix() string {
	if k.StoragePrefix != "" {
		return k.StoragePrefix
	}
	return k.Resource
}

func (k *Kind) printer() printers.Printer {
	if k.Printer != nil {
		return *k.Printer
	}
	return printers.Default
}

// hooks returns the row's hooks, or ones that do nothing.
func (k *Kind) hooks() Hooks {
	if k.Hooks != nil {
		return k.Hooks
	}
	return HooksOf[runtime.Object]{}
}

// NewOf returns a constructor of the prototype's type.
func NewOf(prototype runtime.Object) func() runtime.Object {
	t := reflect.TypeOf(prototype).Elem()
	return func() runtime.Object { return reflect.New(t).Interface().(runtime.Object) }
}
