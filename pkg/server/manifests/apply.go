// Package manifests reads Kubernetes manifests and applies them to a server, in the
// order in which they are given. It is for a server's own start; a cluster's
// configuration is kubectl's business.
package manifests

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager owns what is applied.
const fieldManager = "miniapi"

// Apply applies objects one after the other, each in effect before the next: custom
// resources can follow their definitions. Only definitions that follow each other are
// applied at once, and all that is wrong with them is returned. Objects without a
// namespace go to default.
func Apply(ctx context.Context, config *rest.Config, objects []Object) error {
	if len(objects) == 0 {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	a := applier{client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient))}
	for len(objects) > 0 {
		n := together(objects)
		if err := a.applyTogether(ctx, objects[:n]); err != nil {
			return err
		}
		objects = objects[n:]
	}
	return nil
}

// together is how many of the next objects can be applied at once: definitions don't need
// each other, unless one replaces another.
func together(objects []Object) int {
	names := sets.New[string]()
	for i, object := range objects {
		if !IsDefinition(object.GroupVersionKind()) || names.Has(object.GetName()) {
			return max(i, 1)
		}
		names.Insert(object.GetName())
	}
	return len(objects)
}

type applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// concurrency keeps the processors busy: applying a definition is waiting half of the time.
const concurrency = 8

func (a applier) applyTogether(ctx context.Context, objects []Object) error {
	errs := make([]error, len(objects))
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i, object := range objects {
		group.Go(func() error {
			if ctx.Err() != nil { // once is enough for all that haven't begun
				return context.Cause(ctx)
			}
			if err := a.apply(ctx, object); err != nil {
				errs[i] = fmt.Errorf("%s: %s %s: %w", object.Source, object.GetKind(), object.GetName(), err)
			}
			return nil
		})
	}
	ended := group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return ended
}

func (a applier) apply(ctx context.Context, object Object) error {
	gvk := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		resource = a.client.Resource(mapping.Resource).Namespace(namespace)
	}
	applied, err := resource.Apply(ctx, object.GetName(), object.Unstructured, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return err
	}
	if IsDefinition(gvk) {
		return a.checkEstablished(ctx, applied.GetName())
	}
	return nil
}

// checkEstablished checks that the resources of a definition are served. The server has answered the write
// of the definition when it had judged that.
func (a applier) checkEstablished(ctx context.Context, name string) error {
	u, err := a.client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		return err
	}
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return fmt.Errorf("isn't established; its conditions: %+v", crd.Status.Conditions)
	}
	return nil
}

// IsDefinition says whether a kind is CustomResourceDefinition, of any version.
func IsDefinition(gvk schema.GroupVersionKind) bool {
	return gvk.Group == apiextensionsv1.GroupName && gvk.Kind == "CustomResourceDefinition"
}
