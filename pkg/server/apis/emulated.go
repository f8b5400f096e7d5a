package apis

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
)

// emulate disables the resources that the emulated version of Kubernetes didn't serve yet. If --runtime-config enables
// one of them by name, or a version that has only such resources, the result is an error. With
// RuntimeConfigForwardCompatible, the resources that --runtime-config enables stay enabled instead. With
// ForwardCompatible, a resource also stays enabled in a version if it is enabled in a beta or stable version of lower
// priority.
func (o Config) emulate(apis *serverstorage.ResourceConfig) error {
	emulated := o.Versions.EmulationVersion()
	if binary := o.Versions.BinaryVersion(); emulated.AtLeast(version.MajorMinor(binary.Major(), binary.Minor())) {
		return nil
	}
	evaluator, err := genericapiserver.NewResourceExpirationEvaluatorFromOptions(genericapiserver.ResourceExpirationEvaluatorOptions{
		CurrentVersion:                          emulated,
		EmulationForwardCompatible:              o.ForwardCompatible,
		RuntimeConfigEmulationForwardCompatible: o.RuntimeConfigForwardCompatible,
	})
	if err != nil {
		return err
	}
	prototypes := o.Table.Prototypes(apis, emulated)
	served := map[string]map[string]map[string]rest.Storage{} // by group, version and resource
	for gvr, object := range prototypes {
		if served[gvr.Group] == nil {
			served[gvr.Group] = map[string]map[string]rest.Storage{}
		}
		if served[gvr.Group][gvr.Version] == nil {
			served[gvr.Group][gvr.Version] = map[string]rest.Storage{}
		}
		served[gvr.Group][gvr.Version][gvr.Resource] = prototype{object}
	}
	for group, versions := range served {
		if err := evaluator.RemoveUnavailableKinds(group, o.Table.Scheme(), versions, apis); err != nil {
			return err
		}
	}
	for gvr := range prototypes {
		if served[gvr.Group][gvr.Version][gvr.Resource] == nil {
			apis.DisableResources(gvr)
		}
	}
	return nil
}

// prototype is a rest.Storage that only returns an object. From the kind of the object, k8s.io/apiserver determines
// whether the emulated version of Kubernetes serves the resource.
type prototype struct{ object runtime.Object }

// New implements rest.Storage.
func (p prototype) New() runtime.Object { return p.object }

// Destroy implements rest.Storage.
func (prototype) Destroy() {}
