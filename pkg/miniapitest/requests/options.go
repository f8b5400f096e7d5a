package requests

import (
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Options are the options of the Kubernetes API for a request.
type Options struct {
	DryRun bool
	// FieldManager and FieldValidation are the parameters fieldManager and fieldValidation of creates and updates.
	FieldManager, FieldValidation string
	// Replace sends an update without the metadata that the server has set, such as the resource version.
	Replace bool
	// Force makes a server-side apply take over fields that other field managers own.
	Force bool
	// GracePeriod, in seconds, and PropagationPolicy are options of deletions. A negative GracePeriod means that the
	// request sets no grace period.
	GracePeriod       int64
	PropagationPolicy string
	// Preconditions makes a deletion conditional on the object's uid and resource version.
	Preconditions bool
}

// operations returns the operations that rules of webhooks can name.
func operations() []string {
	return []string{string(admissionv1.Create), string(admissionv1.Update), string(admissionv1.Delete), string(admissionv1.Connect)}
}

func oneOf(value string, values []string) bool { return slices.Contains(values, value) }

// check returns an error for an option that doesn't fit the operation, and for a value that an option doesn't allow.
func (o Options) check(m *Maker) error {
	writes := []string{string(admissionv1.Create), string(admissionv1.Update)}
	deletes := []string{string(admissionv1.Delete)}
	for _, option := range []struct {
		field      string
		set        bool
		operations []string
		value      string
		values     []string
	}{
		{"fieldManager", o.FieldManager != "" && !m.applies(), writes, o.FieldManager, nil},
		{"fieldValidation", o.FieldValidation != "", writes, o.FieldValidation,
			[]string{metav1.FieldValidationIgnore, metav1.FieldValidationWarn, metav1.FieldValidationStrict}},
		{"gracePeriodSeconds", o.GracePeriod >= 0, deletes, "", nil},
		{"propagationPolicy", o.PropagationPolicy != "", deletes, o.PropagationPolicy,
			[]string{string(metav1.DeletePropagationBackground), string(metav1.DeletePropagationForeground), string(metav1.DeletePropagationOrphan)}},
		{"preconditions", o.Preconditions, deletes, "", nil},
		{"replace", o.Replace, []string{string(admissionv1.Update)}, "", nil},
		{"dryRun", o.DryRun, append(writes, deletes...), "", nil},
	} {
		if !option.set {
			continue
		}
		if !oneOf(string(m.Operation), option.operations) {
			return unfit("{%s}: is for %s, and the operation is %s", option.field, orList(option.operations), m.Operation)
		}
		if len(option.values) > 0 && !oneOf(option.value, option.values) {
			return unfit("{%s} %q: must be %s", option.field, option.value, orList(option.values))
		}
	}
	switch {
	case o.Replace && m.Patch != nil:
		return unfit("{replace}: is for an update without {patch}: a patch has no metadata of the server")
	case o.Force && !m.applies():
		return unfit("{force}: is for a server-side apply")
	case o.Preconditions && m.Collection:
		return unfit("{preconditions}: are for one object, and {collection} deletes several")
	}
	return nil
}

// orList joins alternatives for a sentence.
func orList(values []string) string {
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// query returns the options of a write, as parameters of the URL.
func (o Options) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"fieldManager": o.FieldManager, "fieldValidation": o.FieldValidation} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if o.DryRun {
		query.Set("dryRun", metav1.DryRunAll)
	}
	if o.Force {
		query.Set("force", "true")
	}
	return query
}

// deletion returns the options for a deletion. With Preconditions, they have the uid and the resource version of the
// arguments.
func (o Options) deletion(uid types.UID, resourceVersion string) *metav1.DeleteOptions {
	options := &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	if o.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if o.GracePeriod >= 0 {
		options.GracePeriodSeconds = &o.GracePeriod
	}
	if o.PropagationPolicy != "" {
		policy := metav1.DeletionPropagation(o.PropagationPolicy)
		options.PropagationPolicy = &policy
	}
	if o.Preconditions {
		options.Preconditions = &metav1.Preconditions{UID: &uid, ResourceVersion: &resourceVersion}
	}
	return options
}
