package customresources

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/server/direct"
)

// definitionStorage is the storage of definitions and of their status. The server's own writes use it without a
// request.
type definitionStorage struct {
	definitions rest.Creater
	status      rest.Updater
	// fields returns the field manager of definitions, and statusFields returns the field manager of their status. Each
	// manager is created at the first call.
	fields, statusFields func() (*managedfields.FieldManager, error)
}

// storageOf returns the storage of the group of definitions. It returns nil if the group isn't served.
func storageOf(group *genericapiserver.APIGroupInfo) *definitionStorage {
	stored := group.VersionedResourcesStorageMap[apiextensionsv1.SchemeGroupVersion.Version]
	definitions, served := stored[Definitions.Resource].(rest.Creater)
	status, withStatus := stored[Definitions.Resource+"/status"].(rest.Updater)
	if !served || !withStatus {
		return nil
	}
	converter := sync.OnceValues(func() (managedfields.TypeConverter, error) {
		return managedfields.NewTypeConverter(group.StaticOpenAPISpec, false)
	})
	return &definitionStorage{
		definitions:  definitions,
		status:       status,
		fields:       sync.OnceValues(func() (*managedfields.FieldManager, error) { return fieldManager(converter, definitions, "") }),
		statusFields: sync.OnceValues(func() (*managedfields.FieldManager, error) { return fieldManager(converter, status, "status") }),
	}
}

func fieldManager(converter func() (managedfields.TypeConverter, error), store any, subresource string) (*managedfields.FieldManager, error) {
	types, err := converter()
	if err != nil {
		return nil, err
	}
	return direct.NewFieldManager(crdserver.Scheme, types, definitionKind, subresource, store)
}
