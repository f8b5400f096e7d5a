// Package manifests reads Kubernetes manifests and applies them to a server, in the
// order in which they are given. It is for a server's own start; a cluster's
// configuration is kubectl's business.
package manifests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager owns the applied fields.
const FieldManager = "miniapi"

// Applier applies manifests to a server.
type Applier struct {
	// Config is a client configuration of the server.
	Config *rest.Config
	// SkipUnknown, if set, is called with each object of a kind that the server doesn't serve. The object is then
	// skipped. Without it, such an object is an error, which meta.IsNoMatchError recognizes.
	SkipUnknown func(Object)
	// Warn, if set, is called with each warning of the server about an object.
	Warn func(object Object, text string)
}

// Apply applies objects one after the other, each in effect before the next. An object waits for the definition of
// its kind, if that comes later. Only definitions that follow each other are applied at once, and all that is wrong
// with them is returned. Objects without a namespace go to default.
func (a Applier) Apply(ctx context.Context, objects []Object) error {
	if len(objects) == 0 {
		return nil
	}
	config := rest.CopyConfig(a.Config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // the transport collects them
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return collector{next} })
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	run := &application{
		Applier: a, client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient)),
	}
	return run.all(ctx, objects)
}

// application is one call of Apply.
type application struct {
	Applier
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	// warned are the objects whose warnings are reported at the end, if they still apply.
	warned []warned
}

func (a *application) all(ctx context.Context, objects []Object) error {
	var waiting []Object
	for len(objects) > 0 {
		n := together(objects)
		next, rest := objects[:n], objects[n:]
		objects = rest
		if !IsDefinition(next[0].GroupVersionKind()) {
			waits, err := a.waits(next[0], rest)
			switch {
			case err != nil:
				return describe(next[0], err)
			case waits:
				waiting = append(waiting, next[0])
				continue
			}
		}
		if err := a.applyTogether(ctx, next); err != nil {
			return err
		}
		if IsDefinition(next[0].GroupVersionKind()) && len(waiting) > 0 {
			objects, waiting = append(waiting, rest...), nil
		}
	}
	a.warnAtEnd(ctx)
	return nil
}

// waits says whether an object's kind isn't served, and objects that come later define it.
func (a *application) waits(object Object, later []Object) (bool, error) {
	gvk := object.GroupVersionKind()
	if !slices.ContainsFunc(later, func(o Object) bool { return IsDefinition(o.GroupVersionKind()) && defines(o, gvk.GroupKind()) }) {
		return false, nil
	}
	_, err := a.mapping(gvk)
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	return false, err
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

// concurrency keeps the processors busy: applying a definition is waiting half of the time.
const concurrency = 8

func (a *application) applyTogether(ctx context.Context, objects []Object) error {
	errs := make([]error, len(objects))
	warnings := make([][]string, len(objects))
	var running sync.WaitGroup
	places := make(chan struct{}, concurrency)
	var ended error
	for i, object := range objects {
		places <- struct{}{}
		if ended = context.Cause(ctx); ended != nil { // once is enough for all that haven't begun
			break
		}
		running.Add(1)
		go func() {
			defer running.Done()
			defer func() { <-places }()
			errs[i] = a.apply(collect(ctx, &warnings[i]), object, metav1.ApplyOptions{})
		}()
	}
	running.Wait()
	for i, object := range objects {
		a.warn(object, warnings[i])
		if a.SkipUnknown != nil && meta.IsNoMatchError(errs[i]) {
			a.SkipUnknown(object)
			errs[i] = nil
		}
		errs[i] = describe(object, errs[i])
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return ended
}

// describe adds to an error of which object it is.
func describe(object Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s %s: %w", object.Source, object.GetKind(), object.GetName(), err)
}

func (a *application) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if gvk == DefinitionKind { // every server has it, and discovery would take a tenth of the time of a small definition
		return &meta.RESTMapping{Resource: definitions, GroupVersionKind: gvk, Scope: meta.RESTScopeRoot}, nil
	}
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	return mapping, err
}

func (a *application) apply(ctx context.Context, object Object, options metav1.ApplyOptions) error {
	gvk := object.GroupVersionKind()
	mapping, err := a.mapping(gvk)
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
	options.FieldManager, options.Force = FieldManager, true
	applied, err := resource.Apply(ctx, object.GetName(), object.Unstructured, options)
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
func (a *application) checkEstablished(ctx context.Context, name string) error {
	u, err := a.client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(conditions, isEstablished) {
		return fmt.Errorf("isn't established; its conditions: %v", conditions)
	}
	return nil
}

func isEstablished(condition any) bool {
	fields, _ := condition.(map[string]any)
	return fields["type"] == "Established" && fields["status"] == string(metav1.ConditionTrue)
}

// DefinitionGroup is the group of custom resource definitions. Its types are in k8s.io/apiextensions-apiserver, which
// the fixture doesn't import.
const DefinitionGroup = "apiextensions.k8s.io"

var definitions = schema.GroupVersionResource{Group: DefinitionGroup, Version: "v1", Resource: "customresourcedefinitions"}

// DefinitionKind is the kind of definitions in the version that servers have.
var DefinitionKind = schema.GroupVersionKind{Group: DefinitionGroup, Version: "v1", Kind: "CustomResourceDefinition"}

// IsDefinition says whether a kind is CustomResourceDefinition, of any version.
func IsDefinition(gvk schema.GroupVersionKind) bool {
	return gvk.Group == DefinitionGroup && gvk.Kind == "CustomResourceDefinition"
}

// defines says whether a definition is of a kind.
func defines(definition Object, kind schema.GroupKind) bool {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	name, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return group == kind.Group && name == kind.Kind
}
