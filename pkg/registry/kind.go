package registry

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// Group is an API group, with its versions and its kinds.
type Group struct {
	// Name is the name of the group. The core group's name is "".
	Name string
	// Versions are the versions of the group. The preferred version comes first.
	Versions []Version
	// Kinds are the rows of the group's kinds. The Go type in a row is the hub: the version to which all other
	// versions convert. The hub is the preferred version, unless the preferred version lacks the kind or some of
	// its fields.
	Kinds []Kind
	// Types are Go types that subresources need in addition to the kinds, such as autoscaling/v1 Scale.
	Types []runtime.Object
	// Conversions convert between the hub (the version to which all other versions convert) and other versions, for
	// types whose JSON differs.
	Conversions []conversion.Function
	// OpenAPI returns the OpenAPI definitions of the group's Go types, as openapi-gen of k8s.io/kube-openapi generates
	// them. It is nil if the server knows the definitions already: it has those of k8s.io/api and k8s.io/apimachinery.
	OpenAPI common.GetOpenAPIDefinitions
	// Priority orders the groups: the group with the highest priority comes first. If a client names a resource
	// without a group, it uses the first group that has the resource. The default is CustomGroupPriority, which the
	// groups of custom resources have.
	Priority int32
	// Borrowed are resources of other groups that this group serves too. Each version of this group that has the
	// kind serves the resource, from the store of the other group. For example, extensions/v1beta1 serves the
	// deployments of apps.
	Borrowed []schema.GroupResource
}

// Version is a version of an API group, such as v1beta1.
type Version struct {
	Name string
	// AddToScheme registers the Go types of the version in a scheme. It may be nil if Types has all of them.
	AddToScheme func(*runtime.Scheme) error
	// Types are Go types of the version that AddToScheme doesn't register, with their lists.
	Types []runtime.Object
	// AddValidations registers the generated validation of the version's Go types in a scheme. It is in a package below
	// declarative. If it is nil, requests through the version have the generated validation of the hub.
	AddValidations func(*runtime.Scheme) error
	// OnDemand is true for a version that is served only if --runtime-config enables it. Removed is true for a version
	// that kube-apiserver no longer has, even if it emulates a version of Kubernetes that had it.
	OnDemand, Removed bool
	// Priority orders the versions of the group: the version with the highest priority comes first. The default is 15
	// for the preferred version, and 9 for the others.
	Priority int32
}

// Kind is a row of the server's table of kinds. It describes a kind completely.
type Kind struct {
	// Resource is the plural name of the resource, in lower case.
	Resource string
	// Singular is the singular name of the resource. The default is the name of the kind, in lower case.
	Singular   string
	ShortNames []string
	Categories []string
	Namespaced bool

	// Object and List are empty values of the Go types of the hub: the version to which all other versions convert.
	// List is nil for kinds that are neither stored nor computed.
	Object, List runtime.Object

	// Defaults set the defaults of each version of the kind, and of the kinds in requests to its subresources.
	Defaults []Default
	// Canonical brings an object of the hub into the form that it has after kube-apiserver has converted it to its
	// internal type and back. Its error ends a request like the error of a conversion. CanonicalOf makes it. It must not
	// change maps, slices and pointers in place, because a converted object shares them with the original.
	Canonical func(runtime.Object) error
	// Shape finds a part of an object that objects of other kinds have too, such as a pod spec. It is nil for a kind
	// without such a part.
	Shape *Shape

	// StoragePrefix is the path of the objects in etcd, below the prefix of all objects. The default is Resource.
	StoragePrefix string
	// StoredInJSON stores the objects in JSON, although their Go type has a protobuf encoding.
	StoredInJSON bool

	// Hooks prepare, validate and warn about objects of the kind.
	Hooks Hooks
	// Fields are the fields that field selectors can use, besides metadata.name and metadata.namespace.
	Fields Fields
	// Printer makes the tables of kubectl get. By default, a table shows the name and the creation time.
	Printer *printers.Printer

	// Status is true for a kind with a status subresource. The main endpoint then ignores changes of the status.
	// The status endpoint changes only the status and the metadata.
	Status bool
	// StatusKeepsMetadata makes the status endpoint ignore changes of the metadata.
	StatusKeepsMetadata bool
	// StatusOnCreate keeps the status in a create request. For example, a node registers with its status. StatusOnUpdate
	// makes the main endpoint change the status, too.
	StatusOnCreate, StatusOnUpdate bool
	// Resets are the dotted paths of fields that the main endpoint doesn't change, besides status. A server-side
	// apply at the main endpoint never owns these fields. StatusResets are the fields that the status endpoint
	// doesn't change, besides spec.
	Resets, StatusResets []string
	// Generation makes metadata.generation count the changes of the object that HooksOf.SpecChanged reports.
	Generation bool
	// CreateOnUpdate makes an update create the object, if it doesn't exist.
	CreateOnUpdate bool
	// ConditionalUpdate refuses an update without a resourceVersion, except through the group versions in
	// UnconditionalThrough.
	ConditionalUpdate    bool
	UnconditionalThrough []schema.GroupVersion
	// OrphanThrough are the group versions through which a deletion without a propagation policy orphans the
	// dependents of the object. A deletion through another group version deletes the dependents.
	OrphanThrough []schema.GroupVersion
	// NoDependents makes deletions ignore the propagation policy.
	NoDependents bool
	// ReturnDeleted makes a deletion return the object, instead of a Status. ReturnDeletedThrough does so for deletions
	// through some group versions.
	ReturnDeleted        bool
	ReturnDeletedThrough []schema.GroupVersion

	// Feature is the feature gate of kube-apiserver without which the kind isn't served. If it is empty, the kind doesn't
	// depend on a feature gate.
	Feature featuregate.Feature
	// Without changes the row for servers on which a feature gate is off. A function gets a copy of the row, and must not
	// change what decides which resources and subresources are served.
	Without map[featuregate.Feature]func(*Kind)
	// Gated are the fields of the kind that depend on feature gates of kube-apiserver, without the fields of its Shape.
	Gated []Gate

	// TTL returns the number of seconds after which an object expires. If TTL is nil, objects don't expire.
	TTL func(Dependencies) uint64

	// Subresources are the subresources of the kind, except status.
	Subresources []Subresource
	// Answer returns the function that answers requests for a kind that is never stored, such as TokenReview.
	Answer func(Dependencies) AnswerFunc
	// Compute returns the function that computes the objects of a kind that is never stored, such as metrics. It returns a
	// list of the type List with the objects of all namespaces. The kind supports get and list, with selectors.
	Compute func(Dependencies) ComputeFunc
	// Storage makes the storage of a kind that needs more than the usual storage. Its argument is the usual
	// storage. The subresources use the usual storage too, so a change of its fields also applies to the
	// subresources. Without a List, the kind has no usual storage: Storage gets nil, and may return any rest.Storage, for
	// example one that asks another system.
	Storage func(*Storage, Dependencies) (rest.Storage, error)
}

// Subresource is a subresource of a kind, such as scale.
type Subresource struct {
	Name string
	// Through are the group versions that serve the subresource. By default, every version of the kind serves it.
	Through []schema.GroupVersion
	// Feature is the feature gate of kube-apiserver without which the subresource isn't served.
	Feature featuregate.Feature
	// Options is an empty value of the type of the subresource's query parameters, or nil.
	Options runtime.Object
	// Update returns the strategy for updates through the subresource, which change only a part of the object. Its
	// argument is the Strategy of the kind. The subresource supports get and update of the part.
	Update func(Strategy) UpdateStrategy
	// Wrap returns the storage of a subresource with Update. Its arguments are the usual storage of such a subresource and
	// the Strategy of the kind. If Wrap is nil, the subresource has the usual storage.
	Wrap func(ObjectPart, Strategy) (rest.Storage, error)
	// Storage makes the storage of a subresource without Update, from the storage of the kind.
	Storage func(*Storage, Dependencies) (rest.Storage, error)
}

// stored reports whether objects of the kind are stored.
func (k *Kind) stored() bool { return k.List != nil && k.Compute == nil }

// KindName returns the name of the kind, such as Pod.
func (k *Kind) KindName() string { return reflect.TypeOf(k.Object).Elem().Name() }

// reads reports whether the kind depends on a feature gate.
func (k *Kind) reads(feature featuregate.Feature) bool {
	_, changes := k.Without[feature]
	return changes || k.Feature == feature || slices.Contains(k.features(), feature) ||
		slices.ContainsFunc(k.Subresources, func(sub Subresource) bool { return sub.Feature == feature })
}

// on returns the row for a server with the feature gates.
func (k *Kind) on(gates featuregate.FeatureGate) *Kind {
	row := *k
	for feature, change := range k.Without {
		if !gates.Enabled(feature) {
			change(&row)
		}
	}
	return &row
}

// features returns the names of the feature gates on which fields of the kind depend.
func (k *Kind) features() []featuregate.Feature {
	var names []featuregate.Feature
	for _, gate := range slices.Concat(k.Gated, k.shapeGates()) {
		names = append(names, gate.features...)
	}
	return names
}

// shapeGates returns the feature gates of the fields of the kind's Shape.
func (k *Kind) shapeGates() []Gate {
	if k.Shape == nil {
		return nil
	}
	return k.Shape.gated
}

// SingularName returns the singular name of the resource, such as pod.
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

// hooks returns the field Hooks. If it is nil, hooks returns Hooks that do nothing.
func (k *Kind) hooks() Hooks {
	if k.Hooks != nil {
		return k.Hooks
	}
	return HooksOf[runtime.Object]{}
}

// NewOf returns a function that makes empty values of the prototype's type.
func NewOf(prototype runtime.Object) func() runtime.Object {
	t := reflect.TypeOf(prototype).Elem()
	return func() runtime.Object { return reflect.New(t).Interface().(runtime.Object) }
}
