package trace

import "encoding/json"

// Webhook is a webhook that a step considered.
type Webhook struct {
	// Reference has the configuration and the name of the webhook.
	Reference `json:",inline"`
	// Index is the place of the webhook in its configuration.
	Index int `json:"index"`
	// Verdict says why the webhook was called or not.
	Verdict Verdict `json:"verdict"`
	// Call is nil if the webhook wasn't called.
	Call *Call `json:"call,omitempty"`
}

// Outcomes of a call.
const (
	// Allowed is the outcome of a response that allows the request.
	Allowed = "allowed"
	// Denied is the outcome of a response that refuses the request.
	Denied = "denied"
	// Failed is the outcome of a call without a usable response; the failurePolicy refuses the request.
	Failed = "failed"
	// FailedOpen is the outcome of a call without a usable response; the failurePolicy lets the request pass.
	FailedOpen = "failed open"
)

// Call is a call of a webhook.
type Call struct {
	// Address is the URL of the webhook, or service NAMESPACE/NAME.
	Address string `json:"address"`
	// ReviewVersion is the version of the AdmissionReview, v1 or v1beta1. UID is its uid.
	ReviewVersion string `json:"reviewVersion,omitempty"`
	UID           string `json:"uid,omitempty"`
	// Fault is the fault that the server injected into the call; nil without one.
	Fault *Fault `json:"fault,omitempty"`
	// Start is the time since the request was received.
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	Times Times    `json:"times"`
	// Request and Response are the AdmissionReviews. Response is empty if the answer was no JSON.
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	// Outcome is Allowed, Denied, Failed or FailedOpen.
	Outcome string `json:"outcome"`
	Error   *Error `json:"error,omitempty"`
	// Patch is the JSON patch of the response. Before and After are the object around it; both are empty for a patch that
	// wasn't applied or changed nothing.
	Patch    json.RawMessage `json:"patch,omitempty"`
	Before   json.RawMessage `json:"before,omitempty"`
	After    json.RawMessage `json:"after,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// Times are the parts of a call's time.
type Times struct {
	// Reused says that the call needed no new connection: Connect and TLS are 0.
	Reused bool `json:"reused,omitempty"`
	// Connect is the time of the TCP connection, with the name's resolution, and TLS that of the handshake.
	Connect Duration `json:"connect,omitempty"`
	TLS     Duration `json:"tls,omitempty"`
	// Wait is the time from the written request to the first byte of the response.
	Wait Duration `json:"wait,omitempty"`
	// Decode is the time from that byte until the response is decoded.
	Decode Duration `json:"decode,omitempty"`
}
