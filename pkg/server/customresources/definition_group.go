package customresources

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// Definitions is the resource of CustomResourceDefinitions, in the version that is served. --runtime-config can turn it
// off. Then there are no custom resources.
var Definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// definitionGroup installs the API group of definitions. The group is empty if --runtime-config turns the resource off.
func definitionGroup(server *genericapiserver.GenericAPIServer, config *genericapiserver.RecommendedConfig) (*genericapiserver.APIGroupInfo, error) {
	group := genericapiserver.NewDefaultAPIGroupInfo(apiextensionsv1.GroupName, crdserver.Scheme, metav1.ParameterCodec, crdserver.Codecs)
	if config.MergedResourceConfig.ResourceEnabled(Definitions) {
		definitions, err := customresourcedefinition.NewREST(crdserver.Scheme, config.RESTOptionsGetter)
		if err != nil {
			return nil, err
		}
		group.VersionedResourcesStorageMap[apiextensionsv1.SchemeGroupVersion.Version] = map[string]rest.Storage{
			Definitions.Resource:             definitions,
			Definitions.Resource + "/status": customresourcedefinition.NewStatusREST(crdserver.Scheme, definitions),
		}
	}
	return &group, server.InstallAPIGroup(&group)
}

var definitionKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
