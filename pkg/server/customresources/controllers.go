package customresources

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apimachinery/pkg/labels"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
)

// addHooks makes the server start the informers and the controllers. The hooks have the names that
// apiextensions-apiserver gives them. The names of their health checks contain these names.
func (r *Resources) addHooks(runControllers func(genericapiserver.PostStartHookContext)) error {
	synced := make(chan struct{})
	if err := r.server.RegisterMuxAndDiscoveryCompleteSignal("CRDInformerHasNotSynced", synced); err != nil {
		return err
	}
	informer := r.informers.Apiextensions().V1().CustomResourceDefinitions().Informer()
	for _, hook := range []struct {
		name string
		run  genericapiserver.PostStartHookFunc
	}{
		{"start-apiextensions-informers", func(ctx genericapiserver.PostStartHookContext) error {
			r.informers.StartWithContext(ctx)
			return nil
		}},
		{"start-apiextensions-controllers", func(ctx genericapiserver.PostStartHookContext) error {
			cache.WaitFor(ctx, "", informer.HasSyncedChecker())
			runControllers(ctx)
			return nil
		}},
		{"crd-informer-synced", func(ctx genericapiserver.PostStartHookContext) error {
			if cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
				close(synced)
			}
			return nil
		}},
	} {
		if err := r.server.AddPostStartHook(hook.name, hook.run); err != nil {
			return err
		}
	}
	return nil
}

// runController runs a controller in a goroutine. The method Wait waits for the end of the goroutine. During a stop, a
// late hook may call runController at the same time as Wait. The controller then runs too, and ends at once. If it
// never ran, the goroutines of its queue would never end.
func (r *Resources) runController(run func()) {
	r.controllers.Update(func(running *int) { *running++ })
	go func() {
		defer r.controllers.Update(func(running *int) { *running-- })
		run()
	}()
}

// queueAccepted adds definitions to the queue of the establishing controller: those whose names were accepted before
// the start, and that aren't established. The library adds only definitions that change.
func queueAccepted(definitions crdinformers.CustomResourceDefinitionInformer, establishing *establish.EstablishingController) {
	all, err := definitions.Lister().List(labels.Everything())
	if err != nil {
		return // an informer's lister never fails
	}
	for _, crd := range all {
		if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) && !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			establishing.QueueCRD(crd.Name, 0)
		}
	}
}
