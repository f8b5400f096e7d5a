package customresources

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// barrierTimeout limits the time of each wait for a CustomResourceDefinition. The controllers of definitions usually
// need much less time.
const barrierTimeout = 10 * time.Second

// barrier delays the answer to a write of a CustomResourceDefinition until the write is in effect for the next request:
// the controllers have accepted or refused the names, and the resources are served and discovered.
type barrier struct {
	following context.Context // ends when a stop begins and the informers end
	known     *condition.Variable[knownDefinitions]
	// definitionChanged is called when requests for custom resources are served by a changed definition. The answer to
	// the write of the definition waits for the call.
	definitionChanged func()

	cleanup cleanup
}

// knownDefinitions has the definitions that the informer has delivered. The answer to a write of a definition waits for
// a certain state of them.
type knownDefinitions struct {
	// served are the definitions by which the server serves requests. The library's handler of custom resources has
	// received these definitions from the informer.
	served map[string]*apiextensionsv1.CustomResourceDefinition
	// seen are the definitions that all handlers of the informer have received. Discovery and OpenAPI have these
	// definitions, too.
	seen map[string]*apiextensionsv1.CustomResourceDefinition
	// stuck maps the name of a definition to the resource version at which the controllers could not write the status
	// of the definition.
	stuck map[string]string
	// ending maps the name of a definition that is being deleted to the resource version of the definition's last
	// write. settle waits for this version, and then removes the entry. So does observe at the end of the deletion.
	ending map[string]string
}

// String returns the names and the resource versions of the definitions in seen. The error of a wait that takes too
// long shows them.
func (k knownDefinitions) String() string {
	if len(k.seen) == 0 {
		return "no definition has been seen"
	}
	var known []string
	for name, crd := range k.seen {
		known = append(known, name+" at resourceVersion "+crd.ResourceVersion)
	}
	slices.Sort(known)
	return strings.Join(known, ", ")
}

func newBarrier(following context.Context) *barrier {
	return &barrier{
		following:         following,
		definitionChanged: func() {},
		known: condition.New(knownDefinitions{
			served: map[string]*apiextensionsv1.CustomResourceDefinition{},
			seen:   map[string]*apiextensionsv1.CustomResourceDefinition{},
			stuck:  map[string]string{},
			ending: map[string]string{},
		}),
	}
}

// serve records the definition by which the server handles requests, or removes it if deleted is true. The library's
// handler of custom resources must have handled the event of the informer before the call of serve.
func (b *barrier) serve(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	b.known.Update(func(k *knownDefinitions) {
		if deleted {
			delete(k.served, crd.Name)
		} else {
			k.served[crd.Name] = crd
		}
	})
}

// observe records the definition of an event, or removes it if deleted is true. All other handlers of the informer must
// have handled the event before the call of observe.
func (b *barrier) observe(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	b.known.Update(func(k *knownDefinitions) {
		if !deleted {
			k.seen[crd.Name] = crd
			return
		}
		delete(k.seen, crd.Name)
		delete(k.stuck, crd.Name)
		delete(k.ending, crd.Name)
	})
}

// await waits until the function holds returns true, but no longer than barrierTimeout. After that time it logs an
// error with the name of the definition. The wait also ends with ctx, because no client then waits for the answer.
func (b *barrier) await(ctx context.Context, name string, holds func(knownDefinitions) bool) {
	waiting, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	defer context.AfterFunc(b.following, cancel)()
	if err := b.known.Wait(waiting, holds); err != nil && ctx.Err() == nil && b.following.Err() == nil {
		klog.FromContext(ctx).Error(err, "a custom resource definition isn't in effect yet", "name", name)
	}
}

// last returns the definition with the name, as the informer has last reported it, or nil.
func (b *barrier) last(name string) (crd *apiextensionsv1.CustomResourceDefinition) {
	b.known.Read(func(k knownDefinitions) { crd = k.seen[name] })
	return crd
}

// created waits until a definition is in effect, or until the controllers can't bring it into effect. The uid
// distinguishes the definition from a definition of the same name whose deletion is still in progress. An empty uid
// stands for any definition of the name.
func (b *barrier) created(ctx context.Context, name string, uid types.UID) {
	b.await(ctx, name, func(k knownDefinitions) bool {
		crd := k.seen[name]
		return crd != nil && (uid == "" || crd.UID == uid) && (k.isInEffect(crd) || k.isStuck(crd))
	})
}

// definition returns the definition by which requests for a kind are served, or nil.
func (b *barrier) definition(kind schema.GroupVersionKind) (found *apiextensionsv1.CustomResourceDefinition) {
	b.known.Read(func(k knownDefinitions) {
		for _, crd := range k.served {
			if crd.Spec.Group == kind.Group && crd.Status.AcceptedNames.Kind == kind.Kind && apihelpers.HasServedCRDVersion(crd, kind.Version) {
				found = crd
			}
		}
	})
	return found
}

// updated waits until the server handles requests by the definition with the resource version or by a later version, or
// until the definition is deleted.
func (b *barrier) updated(ctx context.Context, name, resourceVersion string) {
	b.await(ctx, name, func(k knownDefinitions) bool { return k.isPast(name, resourceVersion) })
}

// changed waits as updated does, and also until the definition is in effect, or until the controllers can't bring it
// into effect.
func (b *barrier) changed(ctx context.Context, name, resourceVersion string) {
	b.await(ctx, name, func(k knownDefinitions) bool {
		crd := k.seen[name]
		return crd == nil || k.isPast(name, resourceVersion) && (k.isInEffect(crd) || k.isStuck(crd))
	})
}

// refused records that the controllers could not write the status of the definition with the resource version. The
// controllers try again, but a webhook may refuse the status forever.
func (b *barrier) refused(name, resourceVersion string) {
	b.known.Update(func(k *knownDefinitions) { k.stuck[name] = resourceVersion })
}

// ends records the beginning of a deletion, or a later write of a definition that is being deleted. The answer to such
// a write doesn't wait for the end of the deletion: the controllers first delete the custom resources and call webhooks
// for them.
func (b *barrier) ends(name, resourceVersion string) {
	b.known.Update(func(k *knownDefinitions) { k.ending[name] = resourceVersion })
	b.cleanup.begin(name, resourceVersion)
}

// settle waits until the informer has delivered each definition in the field ending, but no longer than barrierTimeout
// for each. After the delivery, no custom resource of these definitions can be created.
func (b *barrier) settle(ctx context.Context) {
	var ending map[string]string
	b.known.Read(func(k knownDefinitions) {
		if len(k.ending) > 0 {
			ending = maps.Clone(k.ending)
		}
	})
	for name, resourceVersion := range ending {
		b.updated(ctx, name, resourceVersion)
		if ctx.Err() != nil {
			return // later requests wait for the definition
		}
		b.known.Update(func(k *knownDefinitions) {
			if k.ending[name] == resourceVersion {
				delete(k.ending, name)
			}
		})
	}
}

// isPast reports whether the informer has delivered the definition with this resource version or a later version. It
// also returns true if the informer has no definition of the name, because the definition is deleted.
func (k knownDefinitions) isPast(name, resourceVersion string) bool {
	crd := k.seen[name]
	if crd == nil {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(crd.ResourceVersion, resourceVersion)
	return err != nil || order >= 0
}
