package validation

import (
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestGeneratedNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		check        func(*metav1.ObjectMeta) Findings
		prefix       string
		field        string
	}{
		{
			"prefix of a kind with Created", "the prefix follows the rule of names, too",
			func(m *metav1.ObjectMeta) Findings {
				return Created(m, ClusterScoped, apivalidation.NameIsDNSSubdomain)
			}, "a_", "metadata.generateName",
		},
		{
			"prefix of a kind with CreatedNamed", "only the name that comes of the prefix is checked",
			func(m *metav1.ObjectMeta) Findings { return CreatedNamed(m, ClusterScoped) }, "a_", "",
		},
		{
			"prefix of a path segment", "a prefix follows the rule of whole names",
			func(m *metav1.ObjectMeta) Findings { return Created(m, ClusterScoped, PathSegmentName) }, "..", "metadata.generateName",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got string
			if errs := tc.check(&metav1.ObjectMeta{Name: "a-12345", GenerateName: tc.prefix}).Errs; len(errs) > 0 {
				got = errs[0].Field
			}
			if got != tc.field {
				t.Errorf("%s: got an error at %q, want %q", tc.reason, got, tc.field)
			}
		})
	}
	errs := CreatedNamed(&metav1.ObjectMeta{Name: "a_"}, ClusterScoped).Errs
	if len(errs) != 1 || errs[0].Field != "metadata.name" {
		t.Errorf("an invalid name causes %v, want an error at metadata.name", errs)
	}
}
