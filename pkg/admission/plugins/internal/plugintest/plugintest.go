// Package plugintest runs one admission plugin in a test, without a chain or a server.
//
// Tests that need several plugins or the storage are in test/integration instead.
package plugintest

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/compatibility"

	"github.com/miniapi-dev/miniapi/pkg/registry/features"
)

// Request is a request for a plugin. The kind and the resource of the request follow from its objects.
type Request struct {
	Operation   admission.Operation
	Object, Old runtime.Object
	Options     runtime.Object
	Subresource string
	User        user.Info
	DryRun      bool
}

// Create returns a request that creates the object.
func Create(object runtime.Object) Request {
	return Request{Operation: admission.Create, Object: object, Options: &metav1.CreateOptions{}}
}

// Update returns a request that replaces the object.
func Update(old, object runtime.Object) Request {
	return Request{Operation: admission.Update, Object: object, Old: old, Options: &metav1.UpdateOptions{}}
}

// Delete returns a request that deletes the object.
func Delete(old runtime.Object) Request {
	return Request{Operation: admission.Delete, Old: old, Options: &metav1.DeleteOptions{}}
}

// Of returns the request for a subresource of the object.
func (r Request) Of(subresource string) Request {
	r.Subresource = subresource
	return r
}

// By returns the request with another user.
func (r Request) By(info user.Info) Request {
	r.User = info
	return r
}

// Attributes returns the request in the form that plugins get.
func (r Request) Attributes(t *testing.T) admission.Attributes {
	t.Helper()
	object := r.Object
	if object == nil {
		object = r.Old
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	if r.User == nil {
		r.User = &user.DefaultInfo{Name: "alice"}
	}
	return admission.NewAttributesRecord(r.Object, r.Old, kinds[0], accessor.GetNamespace(), accessor.GetName(), plural,
		r.Subresource, r.Operation, r.Options, r.DryRun, r.User)
}

// Start gives the plugin its dependencies, among them a client and informers that have the objects. The argument
// allowed is the authorizer; nil stands for an authorizer that allows everything.
func Start(t *testing.T, plugin admission.Interface, allowed authorizer.Authorizer, objects ...runtime.Object) {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	if allowed == nil {
		allowed = authorizerfactory.NewAlwaysAllowAuthorizer()
	}
	mapper := meta.NewDefaultRESTMapper(scheme.Scheme.PrioritizedVersionsAllGroups())
	for _, gv := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		for kind := range scheme.Scheme.KnownTypes(gv) {
			mapper.Add(gv.WithKind(kind), meta.RESTScopeNamespace)
		}
	}
	initializer.New(client, nil, factory, allowed, features.Default(),
		compatibility.NewEffectiveVersionFromString("1.37", "1.36", "1.36"), t.Context().Done(), mapper).Initialize(plugin)
	if err := admission.ValidateInitialization(plugin); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	if err := factory.WaitForCacheSyncWithContext(t.Context()).AsError(); err != nil {
		t.Fatal(err)
	}
}

// Run calls the plugin's Admit and then its Validate, as far as the plugin has these methods and handles the operation.
// The error must contain want. If want is empty, the request must be admitted.
func Run(t *testing.T, plugin admission.Interface, request Request, want string) {
	t.Helper()
	Want(t, run(t, plugin, request), want)
}

// Want checks an error of a plugin. The error must contain want. If want is empty, there must be no error.
func Want(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused, want the request admitted: %v", err)
	case want != "" && err == nil:
		t.Errorf("admitted, want a refusal with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %q, want %q", err, want)
	}
}

func run(t *testing.T, plugin admission.Interface, request Request) error {
	t.Helper()
	if !plugin.Handles(request.Operation) {
		return nil
	}
	attributes := request.Attributes(t)
	objects := admission.NewObjectInterfacesFromScheme(scheme.Scheme)
	if mutation, ok := plugin.(admission.MutationInterface); ok {
		if err := mutation.Admit(t.Context(), attributes, objects); err != nil {
			return err
		}
	}
	if validation, ok := plugin.(admission.ValidationInterface); ok {
		return validation.Validate(t.Context(), attributes, objects)
	}
	return nil
}

// Resources returns a list of resources, from pairs of a name and a quantity.
func Resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range slices.Chunk(pairs, 2) {
		list[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return list
}
