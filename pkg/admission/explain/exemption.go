package explain

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// Exemption says why the webhooks or policies of a plugin aren't considered for a request at all, or returns nil. hidden
// says that the server hides the resource from the plugin.
func Exemption(attributes admission.Attributes, hidden bool) *trace.Verdict {
	resource := attributes.GetResource().GroupResource().String()
	switch {
	case hidden:
		return &trace.Verdict{Reason: trace.ExcludedReview, Got: resource}
	case rules.IsExemptAdmissionConfigurationResource(attributes):
		return &trace.Verdict{Reason: trace.ExemptConfiguration, Got: resource}
	}
	return nil
}
