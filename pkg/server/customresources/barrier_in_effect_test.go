package customresources

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDefinitionIsInEffect checks which status says that a definition is in effect: the controllers have nothing left
// to do for the definition. The answer to a write of the definition waits for that status.
func TestDefinitionIsInEffect(t *testing.T) {
	t.Parallel()
	const (
		accepted    = apiextensionsv1.NamesAccepted
		established = apiextensionsv1.Established
		yes, no     = apiextensionsv1.ConditionTrue, apiextensionsv1.ConditionFalse
	)
	type definition = apiextensionsv1.CustomResourceDefinition
	condition := func(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason string) func(*definition) {
		return func(d *definition) {
			d.Status.Conditions = append(d.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason})
		}
	}
	named := func(d *definition) { d.Status.AcceptedNames = d.Spec.Names }
	// rest gives the definition all requested names except the short names.
	rest := func(d *definition) {
		d.Status.AcceptedNames = d.Spec.Names
		d.Status.AcceptedNames.ShortNames = nil
	}
	wants := func(shortName string) func(*definition) {
		return func(d *definition) { d.Spec.Names.ShortNames = []string{shortName} }
	}
	converts := func(caBundle string) func(*definition) {
		return func(d *definition) {
			d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(caBundle)},
			}}
		}
	}
	group := func(name string) func(*definition) {
		return func(d *definition) { d.Spec.Group = name }
	}
	category := func(d *definition) { d.Spec.Names.Categories = []string{"all"} }
	list := func(d *definition) { d.Spec.Names.ListKind = "GearList" }
	ends := func(d *definition) { d.DeletionTimestamp = &metav1.Time{} }
	for _, test := range []struct {
		name, reason string
		is           []func(*definition)
		want         bool
	}{
		{"new", "the controllers haven't checked the names", nil, false},
		{"named", "the controllers will establish the definition", []func(*definition){named, condition(accepted, yes, "")}, false},
		{"established", "the server serves the definition",
			[]func(*definition){named, condition(accepted, yes, ""), condition(established, yes, "")}, true},
		{"names changed", "the controllers will check the new names",
			[]func(*definition){named, wants("gr"), condition(accepted, yes, ""), condition(established, yes, "")},
			false},
		{"names refused", "another definition has the names",
			[]func(*definition){wants("taken"), rest, condition(accepted, no, ""), condition(established, no, "")},
			true},
		{"names freed", "no definition has them any more",
			[]func(*definition){wants("free"), rest, condition(accepted, no, ""), condition(established, no, "")},
			false},
		{"category of refused", "definitions share categories",
			[]func(*definition){wants("taken"), rest, category, condition(accepted, no, ""), condition(established, no, "")},
			false},
		{"another name of refused", "no other definition has the additional name",
			[]func(*definition){wants("taken"), rest, list, condition(accepted, no, ""), condition(established, no, "")},
			false},
		{"names refused later", "the server serves the definition by its former names",
			[]func(*definition){named, wants("taken"), condition(accepted, no, ""), condition(established, yes, "")}, true},
		{"conflict taken back", "no controller judges names that the definition has",
			[]func(*definition){named, condition(accepted, no, ""), condition(established, no, "")}, true},
		{"status wiped", "no controller establishes the definition again", []func(*definition){named}, true},
		{"caBundle refused", "the controllers have refused the caBundle",
			[]func(*definition){named, converts("none"), condition(accepted, yes, ""), condition(established, no, "InvalidCABundle")},
			true},
		{"caBundle to be refused", "the controllers will refuse the caBundle",
			[]func(*definition){named, converts("none"), condition(accepted, yes, "")}, false},
		{"caBundle repaired", "the controllers will establish the definition",
			[]func(*definition){named, converts(""), condition(accepted, yes, ""), condition(established, no, "InvalidCABundle")},
			false},
		{"not judged", "a group of the community needs an approval",
			[]func(*definition){group("gears.k8s.io"), named, condition(accepted, yes, ""), condition(established, yes, "")}, false},
		{"not approved", "the status says that the definition isn't approved", []func(*definition){group("gears.k8s.io"), named, condition(accepted, yes, ""), condition(established, yes, ""),
			condition(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, no, "")}, true},
		{"ending", "a definition that is being deleted won't be served again", []func(*definition){ends}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := knownDefinitions{}
			crd := &definition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Kind: "Gear"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
			}}
			for _, is := range test.is {
				is(crd)
			}
			other := crd.DeepCopy()
			other.Status.AcceptedNames = apiextensionsv1.CustomResourceDefinitionNames{Plural: "others", Kind: "Other", ShortNames: []string{"taken"}}
			elsewhere := other.DeepCopy()
			elsewhere.Spec.Group, elsewhere.Status.AcceptedNames.ShortNames = "elsewhere.com", []string{"free"}
			b.seen = map[string]*definition{"gears": crd, "others": other, "elsewhere": elsewhere}
			if got := b.isInEffect(crd); got != test.want {
				t.Errorf("in effect: %t, want %t: %s", got, test.want, test.reason)
			}
		})
	}
}
