package serving

import (
	"net/http"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// mostKept is the maximum number of shared handlers that Handlers keeps. A process may generate definitions without
// end, and must not keep a handler of each.
const mostKept = 100

// keptFor is how long Handlers keeps a handler that no server begins to use. The next test of a process starts its server
// sooner. A handler may hold megabytes of compiled rules: the handlers of a hundred deleted definitions took 550 MB.
const keptFor = time.Minute

// Handler serves custom resources, and gives the controller of deleted definitions access to them. The library's
// handler implements it.
type Handler interface {
	http.Handler
	finalizer.CRClientGetter
}

// Limits are the limits of a server for requests. Only servers with the same limits share a handler.
type Limits struct {
	// RequestTimeout is the time after which the server ends a request. MinRequestTimeout is the shortest time of a
	// watch that has no timeout of its own.
	RequestTimeout, MinRequestTimeout time.Duration
	// MaxRequestBodyBytes limits the body of a request. 0 means no limit.
	MaxRequestBodyBytes int64
}

// settings are the options of a server that are part of a shared handler. Only servers with equal settings share a
// handler.
type settings struct {
	limits                  Limits
	garbageCollection       bool
	deleteCollectionWorkers int
	prefix                  string
}

// Handlers keeps the shared handlers of a process: those that servers began to use last, and a short time ago. The zero
// value is ready for use.
type Handlers struct {
	mu   sync.Mutex
	last []*shared // the handler that a server began to use last comes last
}

// shared is a handler of one definition that several servers can use, one after the other or at the same time.
type shared struct {
	Handler
	definition *apiextensionsv1.CustomResourceDefinition
	settings   settings
	codec      runtime.Codec
	// stores are the stores of the definition's versions. The library makes all of them at the first request, before it
	// uses one of them.
	stores []*store
	// expiry drops the handler from Handlers. A server that uses the handler goes on using it.
	expiry *time.Timer
}

// of returns the shared handler for a definition and for the settings of a server. If there is none yet, of makes it.
func (h *Handlers) of(crd *apiextensionsv1.CustomResourceDefinition, server *Config) (*shared, error) {
	options, err := server.Stores.GetRESTOptions(schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Status.AcceptedNames.Plural}, nil)
	if err != nil {
		return nil, err
	}
	wanted := settings{server.Limits, options.EnableGarbageCollection, options.DeleteCollectionWorkers, options.ResourcePrefix}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, kept := range slices.Backward(h.last) {
		if kept.settings == wanted && kept.definition.Name == crd.Name && sameHandler(kept.definition, crd) {
			h.last = append(slices.Delete(h.last, i, i+1), kept)
			kept.expiry.Reset(keptFor)
			return kept, nil
		}
	}
	made := &shared{definition: established(crd), settings: wanted, codec: options.StorageConfig.Codec}
	if err := made.build(server.Models); err != nil {
		return nil, err
	}
	if len(h.last) == mostKept {
		h.last[0].expiry.Stop()
		h.last = slices.Delete(h.last, 0, 1)
	}
	h.last = append(h.last, made)
	made.expiry = time.AfterFunc(keptFor, func() { h.drop(made) })
	return made, nil
}

func (h *Handlers) drop(expired *shared) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = slices.DeleteFunc(h.last, func(kept *shared) bool { return kept == expired })
}

// build makes the library's handler. The argument models are the OpenAPI models of the metadata of all objects.
func (h *shared) build(models map[string]*spec.Schema) error {
	// The informer never starts. It always has this one definition.
	definitions := crdinformers.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	if err := definitions.Informer().GetIndexer().Add(h.definition); err != nil {
		return err
	}
	handler, err := crdserver.NewCustomResourceDefinitionHandler(nil, nil, definitions, next{}, h,
		admitting{}, nil, nil, nil, 1, authorizing{},
		h.settings.limits.RequestTimeout, h.settings.limits.MinRequestTimeout, models, h.settings.limits.MaxRequestBodyBytes)
	h.Handler = handler
	return err
}

// established returns the definition of a shared handler: it has the content of a server's definition, and has been
// established for a long time. The library delays create requests for a definition that has just been established.
func established(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name, UID: types.UID(crd.Name)},
		Spec:       crd.Spec,
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			AcceptedNames: crd.Status.AcceptedNames,
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			},
		},
	}
}

// sameHandler reports whether one handler of the library is right for two definitions: whether the specs and the
// accepted names are the same.
func sameHandler(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return sameSpec(&a.Spec, &b.Spec) && equality.Semantic.DeepEqual(a.Status.AcceptedNames, b.Status.AcceptedNames)
}

// sameSpec reports whether two specs are equal. Definitions that servers start with often share the slice of versions,
// with all schemas. sameSpec doesn't compare the elements of a shared slice, because that would take milliseconds.
func sameSpec(a, b *apiextensionsv1.CustomResourceDefinitionSpec) bool {
	if len(a.Versions) == 0 || len(a.Versions) != len(b.Versions) || &a.Versions[0] != &b.Versions[0] {
		return equality.Semantic.DeepEqual(a, b)
	}
	restA, restB := *a, *b
	restA.Versions, restB.Versions = nil, nil
	return equality.Semantic.DeepEqual(restA, restB)
}

// Superseded reports whether an event of the informer ends a handler. The argument made is the definition of the
// handler, and event is the definition of the event. If deleted is true, the event is a deletion.
func Superseded(made, event *apiextensionsv1.CustomResourceDefinition, deleted bool, definitions crdlisters.CustomResourceDefinitionLister) bool {
	if deleted {
		now, err := definitions.Get(made.Name)
		return err != nil || now.UID != made.UID
	}
	return event.Name == made.Name && (event.UID != made.UID || !sameHandler(event, made))
}
