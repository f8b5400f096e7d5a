package explain

import (
	"strings"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Exemption returns the reason why a webhook plugin considers none of its webhooks for a request, or nil if the plugin
// considers them. hidden says that the server hides the resource from the plugin.
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

// PolicyExemption returns the reason why a policy plugin considers none of its policies for a request, or nil if the
// plugin considers them. Unlike webhooks, policies apply to webhook configurations. They don't apply to policies and
// their bindings.
func PolicyExemption(attributes admission.Attributes, hidden bool) *trace.Verdict {
	verdict := Exemption(attributes, hidden)
	if verdict != nil && verdict.Reason == trace.ExemptConfiguration && !strings.Contains(attributes.GetResource().Resource, "admissionpolic") {
		return nil
	}
	return verdict
}
