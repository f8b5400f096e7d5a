package customresources

import (
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/apiapproval"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	"k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema"
	"k8s.io/apiextensions-apiserver/pkg/controller/status"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/server/customresources/serving"
)

const (
	// masters is the library's parameter for the number of API servers. With a number above one, the library would
	// serve each new definition five seconds late, even if no other server needs that time. serveAtOnce handles another
	// delay of the library, that of create requests.
	masters = 1
	// workers is the number of goroutines of each controller that has several, as in the library
	// apiextensions-apiserver.
	workers = 5
)

// serve serves custom resources, and makes the controllers of definitions run with the server. The library's handler of
// custom resources is the first event handler of the informer. So when a later handler is called with a definition,
// requests are already served by that definition.
func (r *Resources) serve(c Config, config *genericapiserver.RecommendedConfig, models map[string]*spec.Schema, client crdclient.CustomResourceDefinitionsGetter) error {
	validation.RegisterMetrics()
	definitions := r.informers.Apiextensions().V1().CustomResourceDefinitions()
	establishing := establish.NewEstablishingController(definitions, client)
	resources, err := r.handler(c, config, models, definitions, establishing)
	if err != nil {
		return err
	}
	if err := r.follow(definitions.Informer(), resources); err != nil {
		return err
	}
	handler := resourcesAlone{r.stores.forgetting(resources), c.Next.UnprotectedHandler()}
	mux := r.server.Handler.NonGoRestfulMux
	mux.Handle(genericapiserver.APIGroupPrefix, handler)
	mux.HandlePrefix(genericapiserver.APIGroupPrefix+"/", handler)
	r.server.RegisterDestroyFunc(r.stores.destroy)

	naming := status.NewNamingConditionController(klog.Background(), definitions, client)
	structural := nonstructuralschema.NewConditionController(loose{definitions}, client)
	approval := apiapproval.NewKubernetesAPIApprovalPolicyConformantConditionController(definitions, client)
	finalizing := finalizer.NewCRDFinalizer(definitions, client, resources)
	return r.addHooks(func(ctx genericapiserver.PostStartHookContext) {
		r.runController(func() { naming.RunWithContext(ctx) })
		r.runController(func() { establishing.RunWithContext(ctx) })
		r.runController(func() { structural.RunWithContext(workers, ctx) })
		r.runController(func() { approval.RunWithContext(workers, ctx) })
		r.runController(func() { finalizing.RunWithContext(workers, ctx) })
		queueAccepted(definitions, establishing)
	})
}

// handler returns the handler of requests for custom resources. It combines handlers that servers of the process share
// with the library's handler of this server. The library needs no discovery handlers, because package apidiscovery answers
// discovery requests.
func (r *Resources) handler(c Config, config *genericapiserver.RecommendedConfig, models map[string]*spec.Schema,
	definitions crdinformers.CustomResourceDefinitionInformer, establishing *establish.EstablishingController) (*serving.Server, error) {
	next, stores := c.Next.UnprotectedHandler(), r.storesOf(c, config)
	limits := serving.Limits{
		RequestTimeout:      config.RequestTimeout,
		MinRequestTimeout:   time.Duration(config.MinRequestTimeout) * time.Second,
		MaxRequestBodyBytes: config.MaxRequestBodyBytes,
	}
	own, err := crdserver.NewCustomResourceDefinitionHandler(nil, nil, definitions, next, stores,
		config.AdmissionControl, establishing, c.Services, c.WebhookAuth, masters, r.server.Authorizer,
		limits.RequestTimeout, limits.MinRequestTimeout, models, limits.MaxRequestBodyBytes)
	if err != nil {
		return nil, err
	}
	return serving.New(serving.Config{
		Own: own, Next: next, Definitions: definitions.Lister(), Handlers: c.Handlers, Models: models, Limits: limits,
		Admission: config.AdmissionControl, Authorizer: r.server.Authorizer, Stores: stores,
	}), nil
}

// follow adds an event handler to the informer of definitions, directly after the event handler of the library. The new
// handler passes each event to the shared handlers, to the stores and to the barrier.
func (r *Resources) follow(definitions cache.SharedIndexInformer, resources *serving.Server) error {
	told := func(obj any, deleted bool) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			resources.Changed(crd, deleted)
			r.stores.changed(crd, deleted)
			r.barrier.serve(crd, deleted)
		}
	}
	_, err := definitions.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { told(obj, false) },
		UpdateFunc: func(_, obj any) { told(obj, false) },
		DeleteFunc: func(obj any) { told(obj, true) },
	})
	return err
}

// resourcesAlone passes requests for resources to handler, and other requests to next.
type resourcesAlone struct{ handler, next http.Handler }

// ServeHTTP implements http.Handler.
func (h resourcesAlone) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if info, ok := genericapirequest.RequestInfoFrom(req.Context()); ok && !info.IsResourceRequest {
		h.next.ServeHTTP(w, req)
		return
	}
	h.handler.ServeHTTP(w, req)
}
