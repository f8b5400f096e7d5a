package customresources

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// preparer makes the final state of a definition: the state after an apply request and the work of the controllers.
type preparer struct {
	definitions rest.Creater
	feed        *storage.Feed
	// fields records the field manager of the applied fields. statusFields records the field manager of the fields that
	// the controllers set.
	fields, statusFields *managedfields.FieldManager
}

// newPreparer returns a preparer for the storage of definitions. The feed encodes definitions in the form in which they
// are stored.
func newPreparer(stored *definitionStorage, feed *storage.Feed) (*preparer, error) {
	fields, err := stored.fields()
	if err != nil {
		return nil, err
	}
	statusFields, err := stored.statusFields()
	return &preparer{definitions: stored.definitions, feed: feed, fields: fields, statusFields: statusFields}, err
}

// managers are the field managers of a definition: of the applied fields, and of the status.
type managers struct{ applied, status string }

// prepare returns the final state of a definition. It returns nil if Install must not store the definition: for example
// because the API refuses it, or because the controllers decide about more than its names.
func (p *preparer) prepare(ctx context.Context, given []byte, by managers) *prepared {
	var u unstructured.Unstructured
	if err := json.Unmarshal(given, &u.Object); err != nil || u.GroupVersionKind() != definitionKind || u.GetNamespace() != "" || u.GetUID() != "" {
		return nil
	}
	applied, err := p.fields.Apply(&apiextensionsv1.CustomResourceDefinition{}, &u, by.applied, true)
	if err != nil {
		return nil
	}
	var warned recorded
	ctx = warning.WithWarningRecorder(request.WithNamespace(ctx, ""), &warned)
	created, err := p.definitions.Create(ctx, applied, rest.ValidateAllObjectFunc, &metav1.CreateOptions{FieldManager: by.applied, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil
	}
	judged, ok := created.DeepCopyObject().(*apiextensions.CustomResourceDefinition)
	if !ok || !judgedByNames(judged) {
		return nil
	}
	accept(judged)
	judged, ok = p.statusFields.UpdateNoErrors(created, judged, by.status).(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil
	}
	encoded, err := storage.NewTemplate(judged, p.feed.Encode)
	if err != nil {
		return nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(judged, crd, nil); err != nil {
		return nil
	}
	return &prepared{crd, encoded, warned}
}

// judgedByNames reports whether the controllers decide about a definition by its names alone. The result is false for a
// definition with owner references, finalizers, a deletionTimestamp or an invalid caBundle of a webhook, because
// controllers check these fields too.
func judgedByNames(crd *apiextensions.CustomResourceDefinition) bool {
	if len(crd.OwnerReferences) > 0 || len(crd.Finalizers) > 0 || crd.DeletionTimestamp != nil {
		return false
	}
	conversion := crd.Spec.Conversion
	return conversion == nil || conversion.WebhookClientConfig == nil || len(webhook.ValidateCABundle(nil, conversion.WebhookClientConfig.CABundle)) == 0
}

// accept sets the status that the controllers give to a definition whose names no other definition has.
func accept(crd *apiextensions.CustomResourceDefinition) {
	crd.Status.AcceptedNames = *crd.Spec.Names.DeepCopy()
	conditions := []apiextensions.CustomResourceDefinitionCondition{
		{Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"},
		{Type: apiextensions.Established, Status: apiextensions.ConditionTrue, Reason: "InitialNamesAccepted",
			Message: "the initial names have been accepted"},
	}
	if apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		conditions = append(conditions, approval(crd.Annotations))
	}
	for _, condition := range conditions {
		apiextensions.SetCRDCondition(crd, condition)
	}
}

// approval returns the condition that says whether a definition in a group of the Kubernetes community is approved. The
// annotation either approves the definition or says that it is unapproved: the API refuses any other definition.
func approval(annotations map[string]string) apiextensions.CustomResourceDefinitionCondition {
	state, why := apihelpers.GetAPIApprovalState(annotations)
	condition := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.KubernetesAPIApprovalPolicyConformant, Status: apiextensions.ConditionFalse,
		Reason: "UnapprovedAnnotation", Message: why,
	}
	if state == apihelpers.APIApproved {
		condition.Status, condition.Reason = apiextensions.ConditionTrue, "ApprovedAnnotation"
	}
	return condition
}

// withoutConflicts returns a copy of all. If two definitions of a group request the same name, all definitions of the
// group are nil in the copy: the order of requests decides which one gets the name. Elements of all may be nil.
func withoutConflicts(all []*prepared) []*prepared {
	resources, kinds := map[string]sets.Set[string]{}, map[string]sets.Set[string]{}
	conflicting := sets.New[string]()
	for _, p := range all {
		if p == nil {
			continue
		}
		group, names := p.crd.Spec.Group, p.crd.Spec.Names
		for _, wanted := range []struct {
			used  map[string]sets.Set[string]
			names []string
		}{
			{resources, append([]string{names.Plural, names.Singular}, names.ShortNames...)},
			{kinds, []string{names.Kind, names.ListKind}},
		} {
			if wanted.used[group] == nil {
				wanted.used[group] = sets.New[string]()
			}
			own := sets.New(wanted.names...)
			if wanted.used[group].HasAny(own.UnsortedList()...) {
				conflicting.Insert(group)
			}
			wanted.used[group] = wanted.used[group].Union(own)
		}
	}
	all = slices.Clone(all)
	for i, p := range all {
		if p != nil && conflicting.Has(p.crd.Spec.Group) {
			all[i] = nil
		}
	}
	return all
}

// recorded collects the warnings of a request.
type recorded []string

// AddWarning implements warning.Recorder.
func (r *recorded) AddWarning(_, text string) { *r = append(*r, text) }
