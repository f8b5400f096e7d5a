package explain

import (
	"strings"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// Exemption returns the reason why a plugin considers none of its webhooks or policies for a request, or nil if the
// plugin considers them. hidden says that the server hides the resource from the plugin.
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

// PolicyExemption does for the plugins of policies what Exemption does for the plugins of webhooks. Policies apply to
// the configurations of webhooks, but not to the configurations of policies.
func PolicyExemption(attributes admission.Attributes, hidden bool) *trace.Verdict {
	verdict := Exemption(attributes, hidden)
	if verdict != nil && verdict.Reason == trace.ExemptConfiguration && !strings.Contains(attributes.GetResource().Resource, "admissionpolic") {
		return nil
	}
	return verdict
}
