package trace

import "encoding/json"

// Webhook is a webhook that a step called, or considered and ruled out.
type Webhook struct {
	// Reference names the webhook and its configuration.
	Reference `json:",inline"`
	// Index is the position of the webhook in its configuration, from 0.
	Index int `json:"index"`
	// Verdict says why the webhook was called, or why it wasn't.
	Verdict Verdict `json:"verdict"`
	// Call is nil if the webhook wasn't called.
	Call *Call `json:"call,omitempty"`
}

// Outcomes of a call of a webhook.
const (
	// Allowed is the outcome of a response that allows the request.
	Allowed = "allowed"
	// Denied is the outcome of a response that refuses the request.
	Denied = "denied"
	// Failed is the outcome of a failed call that refuses the request: the failurePolicy is Fail, or the patch of the
	// response can't be applied to the object.
	Failed = "failed"
	// FailedOpen is the outcome of a call without a usable response, where the failurePolicy Ignore lets the
	// request pass.
	FailedOpen = "failed open"
)

// Call is a call of a webhook.
type Call struct {
	// Address is the URL of the webhook, or "service NAMESPACE/NAME".
	Address string `json:"address"`
	// URL is the URL of the HTTP request, without its query. It is empty if the call failed before a request, for example
	// because the service doesn't exist. Remote is the network address of the connection, or empty without one.
	URL    string `json:"url,omitempty"`
	Remote string `json:"remote,omitempty"`
	// Status is the HTTP status of the response, or 0 without a response.
	Status int `json:"status,omitempty"`
	// ReviewVersion is the version of the AdmissionReview, v1 or v1beta1. UID is the uid in that review.
	ReviewVersion string `json:"reviewVersion,omitempty"`
	UID           string `json:"uid,omitempty"`
	// Fault is the fault that the server injected into the call; nil if the server injected none.
	Fault *Fault `json:"fault,omitempty"`
	// Start is the time since the request was received.
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	Times Times    `json:"times"`
	// Request and Response are the AdmissionReviews that were sent and received. Response is empty if the webhook
	// didn't answer with JSON.
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	// Outcome is Allowed, Denied, Failed or FailedOpen.
	Outcome string `json:"outcome"`
	// Error is the error of a call that didn't allow the request; nil otherwise. Its code is 0 if the request is refused
	// whatever the failurePolicy, as for a patch that can't be applied.
	Error *Error `json:"error,omitempty"`
	// Answer is the beginning of the response's body, and Remedy says what makes the call succeed. Both are set only for a
	// call whose outcome is Failed or FailedOpen, and Remedy only for a cause that is known.
	Answer string `json:"answer,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Certificate is the certificate that the server didn't accept; nil for other failures.
	Certificate *Certificate `json:"certificate,omitempty"`
	// Patch is the JSON patch of the response. Before and After are the object before and after the patch. Both are
	// empty if the patch wasn't applied, or if it changed nothing.
	Patch    json.RawMessage `json:"patch,omitempty"`
	Before   json.RawMessage `json:"before,omitempty"`
	After    json.RawMessage `json:"after,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	// Lost names the fields that the patch set, and that the server didn't store; nil if there are none. It is nil until
	// the request is read from the server.
	Lost *Lost `json:"lost,omitempty"`
}

// Times are the parts of a call's time.
type Times struct {
	// Reused says that the call needed no new connection: Connect and TLS are 0.
	Reused bool `json:"reused,omitempty"`
	// Connect is the time to resolve the host name and open the TCP connection. TLS is the time of the TLS
	// handshake.
	Connect Duration `json:"connect,omitempty"`
	TLS     Duration `json:"tls,omitempty"`
	// Wait is the time from the last byte of the request to the first byte of the response, or to the failure of a call
	// without a response.
	Wait Duration `json:"wait,omitempty"`
	// Decode is the time from the first byte of the response until the response is decoded.
	Decode Duration `json:"decode,omitempty"`
}
