// Package trace has what a server records about requests in admission, as values for tests. (*miniapitest.Server).Admission
// returns them. The page docs/insight.md says what they mean, and lists the reasons.
//
// The package only decodes. The server makes the values, by its own package pkg/trace.
package trace

import (
	"encoding/json"
	"time"
)

// Request is a request that reached admission, or that met a fault.
type Request struct {
	// ID numbers the requests in the order in which they ended, from 1.
	ID int64 `json:"id"`
	// AuditID is the id of the request in the header Audit-Id and in the audit log.
	AuditID  string    `json:"auditID"`
	Received time.Time `json:"received"`
	Took     Duration  `json:"took"`
	User     User      `json:"user"`
	// UserAgent is the client's User-Agent.
	UserAgent string `json:"userAgent"`
	// Verb is the verb of the API: create, update, patch, delete, deletecollection, or one of a connection.
	Verb string `json:"verb"`
	Resource
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	DryRun    bool   `json:"dryRun"`
	// Faults are those that Inject injected into the request itself.
	Faults []Fault `json:"faults"`
	// Admissions are the passes through the chain. Most requests have one. A deletecollection has one for each object,
	// and an update that meets another update has one for each attempt.
	Admissions []*Admission `json:"admissions"`
	// Code is the HTTP status of the response, or 0 without a response.
	Code int `json:"code"`
	// Error is the error of the response; nil without one.
	Error *Error `json:"error"`
}

// Webhooks returns the webhooks that the request met, in order, in all passes and rounds.
func (r *Request) Webhooks() []*Webhook {
	var all []*Webhook
	for _, admission := range r.Admissions {
		for _, step := range admission.Steps {
			all = append(all, step.Webhooks...)
		}
	}
	return all
}

// Refused returns the refusal of the last pass, or nil if no step of admission refused the request.
func (r *Request) Refused() *Refusal {
	if len(r.Admissions) == 0 {
		return nil
	}
	return r.Admissions[len(r.Admissions)-1].Refused
}

// Resource is a resource, or a subresource.
type Resource struct {
	Group       string `json:"group"`
	Version     string `json:"version"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
}

// Kind is the kind of an object.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// User is the user of a request. For a request that impersonates, it is the impersonated one.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

// Error is a Status that refuses something.
type Error struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Fault is a fault that the server injected.
type Fault struct {
	Name string `json:"name"`
	// Effect is the effect, such as conflict or status 503, or "" for a latency alone.
	Effect  string   `json:"effect"`
	Latency Duration `json:"latency"`
	// Number is the number of the request or call among those that the fault selects, from 1.
	Number uint64 `json:"number"`
}

// Admission is one pass of an object through the chain.
type Admission struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT.
	Operation string `json:"operation"`
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Object is the object as the client asked for it, with defaults. OldObject is the stored one, and Admitted the one
	// that passed validation. Secrets are redacted.
	Object    json.RawMessage `json:"object"`
	OldObject json.RawMessage `json:"oldObject"`
	Admitted  json.RawMessage `json:"admitted"`
	// Steps are the calls of plugins, in order.
	Steps []*Step `json:"steps"`
	// Validation is the check of the object between the mutating and the validating steps; nil without one.
	Validation *Validation `json:"validation"`
	// Refused is the error of the step that refused the request; nil if none did.
	Refused *Refusal `json:"refused"`
}

// Step is a call of a plugin.
type Step struct {
	Plugin string `json:"plugin"`
	// Phase is mutating or validating. Round is 1 when the mutating plugins run again, and else 0.
	Phase string   `json:"phase"`
	Round int      `json:"round"`
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	// Exempt says why the plugin considered none of its webhooks or policies; nil if it did.
	Exempt   *Verdict   `json:"exempt"`
	Webhooks []*Webhook `json:"webhooks"`
	Policies []*Policy  `json:"policies"`
	// Before and After are the object around a step that changed it.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	Error  *Error          `json:"error"`
}

// Validation is the check of an object by its kind's rules.
type Validation struct {
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	Error *Error   `json:"error"`
}

// Refusal says which step refused.
type Refusal struct {
	Plugin string `json:"plugin"`
	Phase  string `json:"phase"`
	Round  int    `json:"round"`
	// Webhook or Policy refused, unless the plugin itself did.
	Webhook *Reference `json:"webhook"`
	Policy  *Reference `json:"policy"`
	Error   Error      `json:"error"`
}

// By names what refused: KIND/NAME/WEBHOOK, KIND/NAME of a policy, or the name of the plugin.
func (r *Refusal) By() string {
	switch {
	case r.Webhook != nil:
		return r.Webhook.String()
	case r.Policy != nil:
		return r.Policy.String()
	}
	return r.Plugin
}

// Reference names a webhook in its configuration, or a policy and its binding.
type Reference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Part string `json:"part"`
}

// String returns KIND/NAME, or KIND/NAME/PART.
func (r Reference) String() string {
	name := r.Kind + "/" + r.Name
	if r.Part != "" {
		name += "/" + r.Part
	}
	return name
}

// Verdict says why a webhook, policy or binding takes part in a request, or doesn't.
type Verdict struct {
	// Reason is one of those in docs/insight.md, such as Matched or RuleOperation.
	Reason string `json:"reason"`
	// Field is the field that decides: webhooks[0].rules[1].operations.
	Field string `json:"field"`
	// Want is the value of the field, and Got the value of the request that was compared with it.
	Want string `json:"want"`
	Got  string `json:"got"`
	// By names the plugin, webhook or policy that is the cause, if it is another one.
	By     string   `json:"by"`
	Detail string   `json:"detail"`
	Also   []string `json:"also"`
}

// Webhook is a webhook that a step considered.
type Webhook struct {
	Reference
	// Index is the place of the webhook in its configuration.
	Index   int     `json:"index"`
	Verdict Verdict `json:"verdict"`
	// Call is nil if the webhook wasn't called.
	Call *Call `json:"call"`
}

// Call is a call of a webhook.
type Call struct {
	// Address is the URL of the webhook, or service NAMESPACE/NAME.
	Address       string `json:"address"`
	ReviewVersion string `json:"reviewVersion"`
	UID           string `json:"uid"`
	// Fault is the fault that Inject injected into the call; nil without one.
	Fault *Fault   `json:"fault"`
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	// Request and Response are the AdmissionReviews.
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
	// Outcome is "allowed", "denied", "failed", or "failed open" if the failurePolicy lets the request pass.
	Outcome string `json:"outcome"`
	Error   *Error `json:"error"`
	// Patch is the JSON patch of the response. Before and After are the object around it.
	Patch    json.RawMessage `json:"patch"`
	Before   json.RawMessage `json:"before"`
	After    json.RawMessage `json:"after"`
	Warnings []string        `json:"warnings"`
}

// Policy is a policy that a step considered.
type Policy struct {
	Reference
	Verdict  Verdict    `json:"verdict"`
	Bindings []*Binding `json:"bindings"`
}

// Binding is a binding of a policy.
type Binding struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
}

// Answer says whether a webhook was called for a request, and why.
type Answer struct {
	Webhook Reference `json:"webhook"`
	// Called says that the webhook was called, or would be.
	Called  bool    `json:"called"`
	Verdict Verdict `json:"verdict"`
	// Again says why the second round didn't call the webhook; nil without a second round, or if it did.
	Again *Verdict `json:"again"`
	// Sentence is the answer in words.
	Sentence string `json:"sentence"`
	// Request is the id of the request. Evaluated says that no request for the object is recorded: the answer is what
	// would happen if the object was created as it is.
	Request   int64 `json:"request"`
	Evaluated bool  `json:"evaluated"`
}

// Duration is a time.Duration that is in JSON as Go writes it: "1.5ms".
type Duration time.Duration

// String returns the duration as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
