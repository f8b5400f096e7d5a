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
	// Name is the full name. The core group's name is "".
	Name string
	// Versions has the preferred version first.
	Versions []Version
	// Kinds are the group's rows. The Go types in rows are the hub, through which all versions convert. They are those
	// of the preferred version, unless that lacks the kind or some of its fields.
	Kinds []Kind
	// Types are further types of the hub that no row has.
	Types []runtime.Object
	// Conversions are the conversions between versions and the hub for types with different JSON.
	Conversions []conversion.Function
	// Priority orders all groups, the highest first. If a client asks for a resource without a group, the first group
	// that has the resource counts. Groups of custom resources have priority 1000.
	Priority int32
	// Borrowed are resources of other groups' rows. Every version of this group that has the kind serves the row's
	// store too. For example, extensions/v1beta1 serves the deployments of apps.
	Borrowed []schema.GroupResource
}

// Version is one version of a group.
type Version struct {
	Name string
	// AddToScheme registers the version's Go types.
	AddToScheme func(*runtime.Scheme) error
	// OnDemand makes the version available only if --runtime-config enables it.
	OnDemand bool
}

// Kind is one row of the table. It describes a kind completely.
type Kind struct {
	// Resource is the plural name, in lower case.
	Resource string
	// Singular is the singular name. Its default is the kind's name in lower case.
	Singular   string
	ShortNames []string
	Categories []string
	Namespaced bool

	// Object and List are prototypes of the hub's Go types. List is nil for kinds that are never stored.
	Object, List runtime.Object

	// Defaults are the functions that set defaults, for versions of the kind and for the objects that subresources
	// take.
	Defaults []Default
	// PodSpec locates the pod's spec in the kind, if there is one.
	PodSpec *PodSpec

	// StoragePrefix is the path of objects below the etcd prefix. Its default is the resource's name.
	StoragePrefix string

	// Hooks are the kind's own preparation, validation and warnings.
	Hooks Hooks
	// Fields are the field selectors of the kind. All kinds have metadata.name and metadata.namespace too.
	Fields Fields
	// Printer shows the kind as a table. By default a table shows the name and the age.
	Printer *printers.Printer

	// Status gives the kind a status subresource. The main endpoint then ignores status, and the status endpoint
	// ignores everything else.
	Status bool
	// StatusKeepsMetadata makes the status endpoint ignore metadata too.
	StatusKeepsMetadata bool
	// StatusOnCreate keeps the status of new objects. For example, a node registers with its status.
	StatusOnCreate bool
	// Resets are dotted paths of fields besides status that the main endpoint doesn't change. An apply on it never owns
	// them. StatusResets are the same for the status endpoint, besides spec and the fields of StatusKeepsMetadata.
	Resets, StatusResets []string
	// Generation makes metadata.generation count the changes of the object's desired state.
	Generation bool
	// CreateOnUpdate makes an update of a missing object create it.
	CreateOnUpdate bool
	// ConditionalUpdate refuses updates without a resourceVersion.
	ConditionalUpdate bool
	// OrphanThrough are group versions with another default for deletions without a propagation policy: they orphan
	// dependents. Other group versions delete dependents.
	OrphanThrough []schema.GroupVersion
	// NoDependents makes deletions ignore the propagation policy.
	NoDependents bool
	// ReturnDeleted makes a deletion return the object instead of a Status.
	ReturnDeleted bool

	// Gated are the kind's fields behind feature gates of kube-apiserver. Those of PodSpec are gated for all kinds.
	Gated []Gate

	// TTL, if set, returns the seconds after which an object expires.
	TTL func(Dependencies) uint64

	// Subresources are the subresources besides status.
	Subresources []Subresource
	// Answer, for a kind that is never stored, answers objects of the kind.
	Answer func(Dependencies) AnswerFunc
	// Storage makes the storage of a kind that needs more than the usual one. The status subresource and Subresources
	// use the given storage with the changes that the function makes to it.
	Storage func(*Storage, Dependencies) (rest.Storage, error)
}

// Subresource is a named subresource of a row.
type Subresource struct {
	Name string
	// Options is the type of the subresource's query parameters, or nil.
	Options runtime.Object
	// Update returns the strategy for updates of a part of the object, given the strategy of the row.
	Update func(Strategy) UpdateStrategy
	// Storage makes the subresource's storage from the row's. If Storage is nil, the subresource supports reading and
	// updating the part.
	Storage func(*Storage, Dependencies) (rest.Storage, error)
}

// KindName returns the name of the kind, which is that of the hub's Go type.
func (k *Kind) KindName() string { return reflect.TypeOf(k.Object).Elem().Name() }

// SingularName returns the resource's name in the singular.
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

// hooks returns the row's hooks, or empty hooks.
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
