package webhooksuite

// Cases returns all cases, in the order of a report.
func Cases() []Case {
	var all []Case
	for _, part := range []func() []Case{
		responseCases, requestCases, patchCases, repetitionCases, loadCases, badInputCases, tlsCases, tokenCases, configurationCases,
	} {
		all = append(all, part()...)
	}
	return all
}

// The documents that the promises come from.
const (
	requestSource        = "Dynamic Admission Control, Request"
	responseSource       = "Dynamic Admission Control, Response"
	idempotenceSource    = "Dynamic Admission Control, Idempotence"
	availabilitySource   = "Dynamic Admission Control, Availability"
	contactSource        = "Dynamic Admission Control, Contacting the webhook"
	serviceSource        = "Dynamic Admission Control, Service reference"
	sideEffectsSource    = "Dynamic Admission Control, Side effects"
	rulesSource          = "Dynamic Admission Control, Matching requests: rules"
	httpSource           = "RFC 9110, Client Error 4xx"
	referenceSource      = "Kubernetes API reference, AdmissionReview"
	configurationSource  = "Dynamic Admission Control, Webhook configuration"
	admissionServerLimit = "KEP-492, Webhook timeouts"
)
