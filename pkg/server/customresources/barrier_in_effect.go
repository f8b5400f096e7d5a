package customresources

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/util/webhook"
)

// isInEffect reports whether the controllers have nothing more to do for the present spec of a definition: for example,
// they have established or refused it. It also returns true for a definition that is being deleted.
func (k knownDefinitions) isInEffect(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return isServed(crd) && (crd.DeletionTimestamp != nil || hasItsNames(crd) || k.isRefusedNames(crd))
}

// isStuck reports whether the controllers could not write the status of the present version of a definition.
func (k knownDefinitions) isStuck(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return k.stuck[crd.Name] == crd.ResourceVersion
}

// isServed reports whether the server serves requests for the accepted names of a definition, and isJudged returns true
// for the definition. isServed also returns true for a definition that no controller is about to establish: it is being
// deleted, its names aren't accepted, or its caBundle is refused.
func isServed(crd *apiextensionsv1.CustomResourceDefinition) bool {
	switch {
	case crd.DeletionTimestamp != nil:
		return true
	case apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established):
		return isJudged(crd)
	case apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted):
		return isRefusedCABundle(crd)
	}
	return true // no controller establishes a definition whose names aren't accepted
}

// hasItsNames reports whether the accepted names of a definition equal the requested names.
func hasItsNames(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return equality.Semantic.DeepEqual(crd.Spec.Names, crd.Status.AcceptedNames)
}

// isRefusedNames reports whether the status is up to date and says that other definitions have some of the requested
// names. For example, an outdated status is about names that the definition doesn't request any more, or that are free
// again.
func (k knownDefinitions) isRefusedNames(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionFalse(crd, apiextensionsv1.NamesAccepted) &&
		equality.Semantic.DeepEqual(k.acceptable(crd), crd.Status.AcceptedNames)
}

// acceptable returns the names that a definition will get: each requested name that no other definition of the group
// has. If another definition has one of the new short names, the definition gets none of the new ones, and keeps its
// accepted short names. Definitions can share categories.
func (k knownDefinitions) acceptable(crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionNames {
	resources, kinds := sets.New[string](), sets.New[string]()
	for _, other := range k.seen {
		if names := other.Status.AcceptedNames; other.Spec.Group == crd.Spec.Group {
			resources.Insert(names.Plural, names.Singular).Insert(names.ShortNames...)
			kinds.Insert(names.Kind, names.ListKind)
		}
	}
	names, want := crd.Status.AcceptedNames, crd.Spec.Names
	for _, name := range []struct {
		has  *string
		want string
		used sets.Set[string]
	}{
		{&names.Plural, want.Plural, resources},
		{&names.Singular, want.Singular, resources},
		{&names.Kind, want.Kind, kinds},
		{&names.ListKind, want.ListKind, kinds},
	} {
		if !name.used.Has(name.want) {
			*name.has = name.want
		}
	}
	if fresh := sets.New(want.ShortNames...).Delete(names.ShortNames...); !resources.HasAny(fresh.UnsortedList()...) {
		names.ShortNames = want.ShortNames
	}
	names.Categories = want.Categories
	return names
}

// isRefusedCABundle tells whether the caBundle of the definition's webhook is invalid, and the definition's status says
// so.
func isRefusedCABundle(crd *apiextensionsv1.CustomResourceDefinition) bool {
	established := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established)
	if established == nil || established.Reason != "InvalidCABundle" {
		return false
	}
	conversion := crd.Spec.Conversion
	return conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil &&
		len(webhook.ValidateCABundle(nil, conversion.Webhook.ClientConfig.CABundle)) > 0
}

// isJudged reports whether a controller has checked the approval of a definition. It also returns true for a definition
// that needs no approval: only the groups of the Kubernetes community need one.
func isJudged(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) ||
		apihelpers.FindCRDCondition(crd, apiextensionsv1.KubernetesAPIApprovalPolicyConformant) != nil
}
