// Package manifests reads Kubernetes manifests and applies them to a server in their order. The fixture and the server
// use the package for the objects of a start. Don't use it to manage the configuration of a cluster: use kubectl.
package manifests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager is the field manager of the applied fields.
const FieldManager = "miniapi"

// Applier applies manifests to a server.
type Applier struct {
	// Config is a client configuration of the server.
	Config *rest.Config
	// SkipUnknown, if set, is called with each object whose kind the server doesn't serve. The applier skips such an
	// object. If SkipUnknown is nil, such an object is an error, which meta.IsNoMatchError recognizes.
	SkipUnknown func(Object)
	// There, if set, tells whether the server has an object already. Such an object isn't applied, and keeps its place in
	// the order.
	There func(Object) bool
	// Warn, if set, is called with each warning of the server about an object.
	Warn func(object Object, text string)
}

// Apply applies objects in their order. If the definition of an object's kind comes later in the list, the object waits
// for the definition. Consecutive definitions are applied at the same time. If several of them fail, the error has all
// their errors. Objects of namespaced kinds get the namespace default if they have no namespace.
func (a Applier) Apply(ctx context.Context, objects []Object) error {
	if !slices.ContainsFunc(objects, func(object Object) bool { return !a.isThere(object) }) {
		return nil
	}
	config := rest.CopyConfig(a.Config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // the transport collects warnings
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return collector{next} })
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	run := &application{
		Applier: a, client: client,
		kinds: &kinds{client: client, all: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient))},
	}
	return run.all(ctx, objects)
}

func (a Applier) isThere(object Object) bool { return a.There != nil && a.There(object) }

// application has the state of one call of Apply.
type application struct {
	Applier
	client rest.Interface
	kinds  *kinds
	// warned are webhook configurations and policies with warnings that may not be true any more after all objects are
	// applied.
	warned []warned
}

func (a *application) all(ctx context.Context, objects []Object) error {
	var waiting []Object
	for len(objects) > 0 {
		n := together(objects)
		next, rest := objects[:n], objects[n:]
		objects = rest
		if !IsDefinition(next[0].GroupVersionKind()) {
			waits, err := a.waits(ctx, next[0], rest)
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

// waits tells whether an object must wait, because a definition later in the list defines its kind. The object doesn't
// wait if the server serves the kind without this definition.
func (a *application) waits(ctx context.Context, object Object, later []Object) (bool, error) {
	gvk := object.GroupVersionKind()
	defined := false
	for _, definition := range later {
		if !IsDefinition(definition.GroupVersionKind()) || !Defines(definition, gvk.GroupKind()) {
			continue
		}
		if a.isThere(definition) { // the server has the definition, but the object's place in the order is after it
			return true, nil
		}
		defined = true
	}
	if !defined {
		return false, nil
	}
	_, err := a.kinds.mapping(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	return false, err
}

// together returns how many of the next objects can be applied at the same time: consecutive definitions with different
// names, because definitions don't need each other.
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

// concurrency is the number of definitions that are applied at the same time. Half of the time of applying a definition
// is waiting, so the number is larger than the number of processors of most machines.
const concurrency = 8

func (a *application) applyTogether(ctx context.Context, objects []Object) error {
	errs := make([]error, len(objects))
	warnings := make([][]string, len(objects))
	var running sync.WaitGroup
	places := make(chan struct{}, concurrency)
	var ended error
	for i, object := range objects {
		places <- struct{}{}
		if ended = context.Cause(ctx); ended != nil { // after the end of ctx, the remaining definitions aren't applied
			break
		}
		running.Add(1)
		go func() {
			defer running.Done()
			defer func() { <-places }()
			errs[i] = a.apply(collect(ctx, &warnings[i]), object)
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

// ObjectError is the error of an object that can't be applied.
type ObjectError struct {
	Object Object
	Err    error
}

// Error implements error. The text has the source, the kind and the name of the object.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("%s: %s %s: %v", e.Object.Source, e.Object.GetKind(), e.Object.GetName(), e.Err)
}

// Unwrap returns the error without the object.
func (e *ObjectError) Unwrap() error { return e.Err }

// describe adds the object to an error.
func describe(object Object, err error) error {
	if err == nil {
		return nil
	}
	return &ObjectError{object, err}
}

// metadataAlone is an Accept header that selects only the metadata of an applied object. The server then doesn't encode
// the rest, and the client doesn't decode it.
const metadataAlone = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// apply applies an object, unless There returns true for the object. The argument dryRun is empty, or has the value of
// the query parameter dryRun.
func (a *application) apply(ctx context.Context, object Object, dryRun ...string) error {
	if a.isThere(object) {
		return nil
	}
	gvk := object.GroupVersionKind()
	mapping, err := a.kinds.mapping(ctx, gvk)
	if err != nil {
		return err
	}
	content, err := object.Encoded()
	if err != nil {
		return err
	}
	namespace, namespaced := object.GetNamespace(), mapping.Scope.Name() == meta.RESTScopeNameNamespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	request := at(a.client.Patch(types.ApplyPatchType), mapping.Resource).NamespaceIfScoped(namespace, namespaced).Name(object.GetName()).
		Param("fieldManager", FieldManager).Param("force", "true").SetHeader("Accept", metadataAlone).Body(content.JSON)
	if IsDefinition(gvk) {
		// The content was encoded from a map, so it has no duplicate fields. With another value of fieldValidation, the
		// server would parse the definition once more to look for duplicate fields.
		request.Param("fieldValidation", metav1.FieldValidationIgnore)
	}
	for _, value := range dryRun {
		request.Param("dryRun", value)
	}
	if err := request.Do(ctx).Error(); err != nil || !IsDefinition(gvk) {
		return err
	}
	return a.checkEstablished(ctx, object)
}

// at returns the request with the path of the resource.
func at(request *rest.Request, resource schema.GroupVersionResource) *rest.Request {
	return in(request, resource.GroupVersion()).Resource(resource.Resource)
}

// checkEstablished returns an error if the resources of a definition aren't served and its condition Established isn't
// true. It needn't wait, because a server of miniapi answers the write of a definition only after its controllers have
// accepted or refused the definition.
func (a *application) checkEstablished(ctx context.Context, definition Object) error {
	if a.isServed(ctx, definition) {
		return nil
	}
	data, err := at(a.client.Get(), definitions).Name(definition.GetName()).Do(ctx).Raw()
	if err != nil {
		return err
	}
	var stored struct{ Status struct{ Conditions []any } }
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	conditions := stored.Status.Conditions
	if !slices.ContainsFunc(conditions, isEstablished) {
		return fmt.Errorf("the server hasn't established the definition: %s", inWords(conditions))
	}
	return nil
}

// inWords describes the conditions of a definition, such as "NamesAccepted is False: PluralConflict: ...".
func inWords(conditions []any) string {
	words := make([]string, 0, len(conditions))
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		words = append(words, fmt.Sprintf("%v is %v: %v: %v", fields["type"], fields["status"], fields["reason"], fields["message"]))
	}
	if len(words) == 0 {
		return "the status has no conditions"
	}
	return strings.Join(words, "; ")
}

// isServed tells whether the discovery document of a definition's first served version has the resource of the
// definition. This document is much smaller than the definition.
func (a *application) isServed(ctx context.Context, definition Object) bool {
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, path...)...)
		return text
	}
	found, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	versions, _ := found.([]any)
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		name, _ := fields["name"].(string)
		if fields["served"] != true || name == "" {
			continue
		}
		gv := schema.GroupVersion{Group: field("group"), Version: name}
		return slices.ContainsFunc(served(ctx, a.client, gv), func(resource metav1.APIResource) bool {
			return resource.Name == field("names", "plural") && resource.Kind == field("names", "kind")
		})
	}
	return false
}

func isEstablished(condition any) bool {
	fields, _ := condition.(map[string]any)
	return fields["type"] == "Established" && fields["status"] == string(metav1.ConditionTrue)
}

// DefinitionGroup is the API group of custom resource definitions. The fixture doesn't import
// k8s.io/apiextensions-apiserver, which has the types.
const DefinitionGroup = "apiextensions.k8s.io"

var definitions = schema.GroupVersionResource{Group: DefinitionGroup, Version: "v1", Resource: "customresourcedefinitions"}

// DefinitionKind is the kind of custom resource definitions, in the version that servers serve.
var DefinitionKind = schema.GroupVersionKind{Group: DefinitionGroup, Version: "v1", Kind: "CustomResourceDefinition"}

// IsDefinition tells whether a kind is CustomResourceDefinition, in any version.
func IsDefinition(gvk schema.GroupVersionKind) bool {
	return gvk.Group == DefinitionGroup && gvk.Kind == "CustomResourceDefinition"
}

// Defines tells whether a definition defines a kind.
func Defines(definition Object, kind schema.GroupKind) bool {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	name, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return group == kind.Group && name == kind.Kind
}
