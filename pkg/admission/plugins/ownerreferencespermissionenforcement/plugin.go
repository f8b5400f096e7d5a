// Package ownerreferencespermissionenforcement has the plugin OwnerReferencesPermissionEnforcement. A user who
// changes the ownerReferences of an existing object must have the permission to delete the object. A user who sets
// blockOwnerDeletion, in a new or an existing object, must have the permission to update the finalizers of the owner.
//
// The plugin is off by default. With the plugin, a controller that sets blockOwnerDeletion needs the permission for
// the owner's finalizers.
package ownerreferencespermissionenforcement

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "OwnerReferencesPermissionEnforcement"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin refuses ownerReferences of users without the permissions for the object and its owner.
type Plugin struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
	mapper     meta.RESTMapper
}

var _ admission.ValidationInterface = &Plugin{}

// SetUnconditionalAuthorizer implements initializer.WantsUnconditionalAuthorizer.
func (p *Plugin) SetUnconditionalAuthorizer(a authorizer.UnconditionalAuthorizer) { p.authorizer = a }

// SetRESTMapper implements initializer.WantsRESTMapper.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.mapper = mapper }

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.authorizer == nil || p.mapper == nil {
		return errors.New("missing authorizer or restMapper")
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	// Old kubelets send wrong metadata together with the status of a pod. The wrong metadata does no harm, because the
	// storage ignores it.
	if a.GetResource().GroupResource() == corev1.Resource("pods") && a.GetSubresource() == "status" {
		return nil
	}
	references, old, ok := ownerReferences(a)
	if !ok || len(references) == 0 && len(old) == 0 || equality.Semantic.DeepEqual(references, old) {
		return nil
	}

	if err := p.mayDelete(ctx, a); err != nil {
		return err
	}
	blocking := newlyBlocking(references, old)
	if len(blocking) == 0 || p.finalizesAnything(ctx, a.GetUserInfo()) {
		return nil
	}
	for _, reference := range blocking {
		owners, err := p.owners(reference, a)
		if err != nil {
			return admission.NewForbidden(a, fmt.Errorf("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %s Kind %s: %w", reference.APIVersion, reference.Kind, err))
		}
		for _, owner := range owners {
			if decision, reason, err := p.authorizer.Authorize(ctx, owner); decision != authorizer.DecisionAllow {
				return admission.NewForbidden(a, fmt.Errorf("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: %v, %v", reason, err)) //nolint:errorlint // err may be nil
			}
		}
	}
	return nil
}

// mayDelete returns an error if the user of an update lacks the permission to delete the object. A user who creates an
// object needs no such permission.
func (p *Plugin) mayDelete(ctx context.Context, a admission.Attributes) error {
	if a.GetOperation() == admission.Create {
		return nil
	}
	decision, reason, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User:            a.GetUserInfo(),
		Verb:            "delete",
		Namespace:       a.GetNamespace(),
		APIGroup:        a.GetResource().Group,
		APIVersion:      a.GetResource().Version,
		Resource:        a.GetResource().Resource,
		Subresource:     a.GetSubresource(),
		Name:            a.GetName(),
		ResourceRequest: true,
	})
	if decision != authorizer.DecisionAllow {
		return admission.NewForbidden(a, fmt.Errorf("cannot set an ownerRef on a resource you can't delete: %v, %v", reason, err)) //nolint:errorlint // err may be nil
	}
	return nil
}

// finalizesAnything reports whether the user may update the finalizers of every object. For such a user, the owners'
// kinds need not be known.
func (p *Plugin) finalizesAnything(ctx context.Context, by user.Info) bool {
	decision, _, _ := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: by, Verb: "update", APIGroup: "*", APIVersion: "*", Resource: "*", Subresource: "finalizers", Name: "*",
		ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}

// ownerReferences returns the owner references of the new and the old object. ok is false if one of them has no
// metadata.
func ownerReferences(a admission.Attributes) (references, old []metav1.OwnerReference, ok bool) {
	read := func(object runtime.Object) []metav1.OwnerReference {
		accessor, err := meta.Accessor(object)
		if err != nil {
			ok = false
			return nil
		}
		return accessor.GetOwnerReferences()
	}
	ok = true
	references = read(a.GetObject())
	if a.GetOldObject() != nil {
		old = read(a.GetOldObject())
	}
	return references, old, ok
}

// newlyBlocking returns the references that set blockOwnerDeletion in the new object but not in the old one.
func newlyBlocking(references, old []metav1.OwnerReference) []metav1.OwnerReference {
	blocks := func(r metav1.OwnerReference) bool { return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion }
	blocked := map[types.UID]bool{}
	for _, reference := range old {
		blocked[reference.UID] = blocks(reference)
	}
	var blocking []metav1.OwnerReference
	for _, reference := range references {
		if blocks(reference) && !blocked[reference.UID] {
			blocking = append(blocking, reference)
		}
	}
	return blocking
}

// owners returns the permissions that a reference with blockOwnerDeletion needs: to update the finalizers of the
// owner. The owner's kind may be served as several resources, and the user needs the permission for each of
// these resources.
func (p *Plugin) owners(reference metav1.OwnerReference, a admission.Attributes) ([]authorizer.AttributesRecord, error) {
	gv, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil {
		return nil, err
	}
	mappings, err := p.mapper.RESTMappings(gv.WithKind(reference.Kind).GroupKind(), gv.Version)
	if err != nil {
		return nil, err
	}
	var owners []authorizer.AttributesRecord
	for _, mapping := range mappings {
		owner := authorizer.AttributesRecord{
			User:            a.GetUserInfo(),
			Verb:            "update",
			APIGroup:        mapping.Resource.Group,
			APIVersion:      mapping.Resource.Version,
			Resource:        mapping.Resource.Resource,
			Subresource:     "finalizers",
			Name:            reference.Name,
			ResourceRequest: true,
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			owner.Namespace = a.GetNamespace() // an owner is in the namespace of its object
		}
		owners = append(owners, owner)
	}
	return owners, nil
}
