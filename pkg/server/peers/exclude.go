package peers

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Exclude makes this server handle requests for custom resources and for APIs of other servers itself, because every
// server of the etcd has the same definitions and APIServices. This server learns of a change of these objects before
// it learns of the changed discovery of its peers. The argument apiServices may be nil.
func (p *Peers) Exclude(definitions, apiServices cache.SharedIndexInformer) error {
	if p.proxy == nil {
		return nil
	}
	if apiServices != nil {
		if err := p.proxy.RegisterAPIServiceInformerHandlers(apiServices, remoteVersions); err != nil {
			return err
		}
	}
	return p.proxy.RegisterCRDInformerHandlers(definitions, definedVersions)
}

func definedVersions(obj any) []schema.GroupVersion {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil
	}
	var versions []schema.GroupVersion
	for _, v := range crd.Spec.Versions {
		versions = append(versions, schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name})
	}
	return versions
}

func remoteVersions(obj any) []schema.GroupVersion {
	s, ok := obj.(*apiregistrationv1.APIService)
	if !ok || s.Spec.Service == nil {
		return nil
	}
	return []schema.GroupVersion{{Group: s.Spec.Group, Version: s.Spec.Version}}
}
