// Package trace has the record of requests in admission as Go values, for tests. The methods of miniapitest.Admission
// return the values. docs/trace.md explains the fields and lists the reasons.
//
// The package only decodes. The server makes the records, by package pkg/trace. Don't use this package to record.
package trace

import (
	"encoding/json"
	"time"
)

// Request is a request that reached admission, a write that authorization refused, or a request into which a fault was
// injected.
type Request struct {
	// ID is the number of the request, in the order in which requests ended, counted from 1.
	ID int64 `json:"id"`
	// AuditID is the request's id. The header Audit-Id and the audit log have the same id.
	AuditID  string    `json:"auditID"`
	Received time.Time `json:"received"`
	Took     Duration  `json:"took"`
	User     User      `json:"user"`
	// UserAgent is the client's User-Agent.
	UserAgent string `json:"userAgent"`
	// Verb is the verb of the API request, such as create or deletecollection. A request with the operation CONNECT has
	// the verb of its HTTP method, such as get for pods/exec. A request that only reads is recorded only if a fault was
	// injected into it.
	Verb string `json:"verb"`
	Resource
	// Path is the path of a request that isn't for a resource.
	Path      string `json:"path"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	DryRun    bool   `json:"dryRun"`
	// Faults are the faults that the server injected into the request itself, and not into its calls of webhooks.
	Faults []Fault `json:"faults"`
	// Admissions are the passes of objects through admission. Most requests have one. A deletecollection has one for
	// each object. An update that conflicts with another update has one for each attempt.
	Admissions []*Admission `json:"admissions"`
	// Code is the HTTP status of the response, or 0 if there was no response.
	Code int `json:"code"`
	// Forbidden is true if authorization refused the request. The request then didn't reach admission.
	Forbidden bool `json:"forbidden"`
	// Error is the error in the response, or nil.
	Error *Error `json:"error"`
	// Stripped is true if objects and reviews are missing, because they exceeded the server's limit (--trace-bytes).
	Stripped bool `json:"stripped"`
}

// Webhooks returns the webhooks that admission considered for the request, in all passes and rounds, in order.
func (r *Request) Webhooks() []*Webhook {
	var all []*Webhook
	for _, admission := range r.Admissions {
		for _, step := range admission.Steps {
			all = append(all, step.Webhooks...)
		}
	}
	return all
}

// Refused returns the refusal of the last pass, or nil if admission didn't refuse the request.
func (r *Request) Refused() *Refusal {
	if len(r.Admissions) == 0 {
		return nil
	}
	return r.Admissions[len(r.Admissions)-1].Refused
}

// Resource is a resource or a subresource.
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

// User is the user of a request. If the request impersonates a user, it is the impersonated user.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

// Error is the code, the reason and the message of a Status with an error.
type Error struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Fault is a fault that the server has injected.
type Fault struct {
	Name string `json:"name"`
	// Effect is the effect, such as conflict or status 503. It is "" for a fault with a latency only.
	Effect  string   `json:"effect"`
	Latency Duration `json:"latency"`
	// Number is the number of the request or call, among the requests and calls that the fault selects. The first is 1.
	Number uint64 `json:"number"`
}

// Admission is a pass of one object through all steps of admission.
type Admission struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT.
	Operation string `json:"operation"`
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Object is the object of the request, with defaults. OldObject is the stored object. Admitted is the object after
	// validation. By default, the server replaces the data of Secrets.
	Object    json.RawMessage `json:"object"`
	OldObject json.RawMessage `json:"oldObject"`
	Admitted  json.RawMessage `json:"admitted"`
	// Stored is a custom resource as the server stored it, in the version of the request. It has only the fields of its
	// schema. StoredVersion is the version in which the server keeps the object. Both are empty for built-in kinds, and if
	// nothing was stored.
	Stored        json.RawMessage `json:"stored"`
	StoredVersion string          `json:"storedVersion"`
	// Steps are the calls of admission plugins, in order.
	Steps []*Step `json:"steps"`
	// Validation is the validation of the object, between the mutating and the validating steps. It is nil if there was
	// none.
	Validation *Validation `json:"validation"`
	// Refused is the refusal by a step, or nil.
	Refused *Refusal `json:"refused"`
}

// Step is a call of an admission plugin.
type Step struct {
	Plugin string `json:"plugin"`
	// Phase is "mutating" or "validating". Round is 1 for the second call of a mutating plugin, and 0 otherwise.
	Phase string   `json:"phase"`
	Round int      `json:"round"`
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	// Exempt is the reason why the plugin considered none of its webhooks or policies. It is nil if the plugin
	// considered them.
	Exempt   *Verdict   `json:"exempt"`
	Webhooks []*Webhook `json:"webhooks"`
	Policies []*Policy  `json:"policies"`
	// Before and After are the object before and after a step. They are set only if the plugin itself changed the
	// object. The changes of webhooks and policies are in Call and Evaluation.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	Error  *Error          `json:"error"`
}

// Validation is the validation of an object by the rules of its kind.
type Validation struct {
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	Error *Error   `json:"error"`
}

// Refusal names the part of admission that refused the request.
type Refusal struct {
	Plugin string `json:"plugin"`
	Phase  string `json:"phase"`
	Round  int    `json:"round"`
	// Webhook or Policy names the webhook or policy that refused the request. Both are nil if the plugin itself refused
	// the request.
	Webhook *Reference `json:"webhook"`
	Policy  *Reference `json:"policy"`
	// Fields are the fields of the webhook or policy that decided: the rule that matched, and the expression of a policy.
	Fields []string `json:"fields"`
	Error  Error    `json:"error"`
}

// By returns the name of the part that refused the request: KIND/NAME/WEBHOOK, KIND/NAME/BINDING or KIND/NAME of a
// policy, or the name of the plugin.
func (r *Refusal) By() string {
	switch {
	case r.Webhook != nil:
		return r.Webhook.String()
	case r.Policy != nil:
		return r.Policy.String()
	}
	return r.Plugin
}

// Reference names a webhook of a configuration, or a policy and its binding.
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

// Verdict is the reason why a webhook, policy or binding applies to a request, or doesn't.
type Verdict struct {
	// Reason is one of the reasons in docs/trace.md, such as Matched or RuleOperation.
	Reason string `json:"reason"`
	// Field is the field that decides, such as webhooks[0].rules[1].operations.
	Field string `json:"field"`
	// Want is the value of the field, or the failurePolicy or the validationActions if something failed. Got is the
	// value of the request that was compared with Want, or another value that explains the reason.
	Want string `json:"want"`
	Got  string `json:"got"`
	// By names the cause if it is outside of the webhook or policy, such as a plugin, another webhook or a fault. For
	// the reason ValidationReported, it is the validationActions of the binding.
	By     string   `json:"by"`
	Detail string   `json:"detail"`
	Also   []string `json:"also"`
	// As is the resource by which a rule matched, if that resource isn't the request's own; nil otherwise.
	As *Resource `json:"as"`
}

// Webhook is a webhook that a step considered.
type Webhook struct {
	Reference
	// Index is the index of the webhook in its configuration.
	Index   int     `json:"index"`
	Verdict Verdict `json:"verdict"`
	// Call is the call of the webhook, or nil if the webhook wasn't called.
	Call *Call `json:"call"`
}

// Call is a call of a webhook.
type Call struct {
	// Address is the URL of the webhook, or "service NAMESPACE/NAME".
	Address string `json:"address"`
	// URL is the URL of the HTTP request, without its query. Remote is the network address of the connection, and Status
	// the HTTP status of the response. They are empty if the call failed before.
	URL           string `json:"url"`
	Remote        string `json:"remote"`
	Status        int    `json:"status"`
	ReviewVersion string `json:"reviewVersion"`
	UID           string `json:"uid"`
	// Fault is the fault that the server injected into the call, or nil.
	Fault *Fault   `json:"fault"`
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	Times Times    `json:"times"`
	// Request and Response are the AdmissionReviews of the call.
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
	// Outcome is "allowed", "denied", "failed" or "failed open". The value "failed open" means that the call failed and
	// the failurePolicy is Ignore.
	Outcome string `json:"outcome"`
	Error   *Error `json:"error"`
	// Answer is the beginning of the response's body, and Remedy says what makes the call succeed. Both are empty for a
	// call that didn't fail. Certificate is the certificate that the server didn't accept, or nil.
	Answer      string       `json:"answer"`
	Remedy      string       `json:"remedy"`
	Certificate *Certificate `json:"certificate"`
	// Patch is the JSON patch of the response. Before and After are the object before and after the patch. Both are
	// empty if the patch changed nothing or wasn't applied.
	Patch    json.RawMessage `json:"patch"`
	Before   json.RawMessage `json:"before"`
	After    json.RawMessage `json:"after"`
	Warnings []string        `json:"warnings"`
	// Lost names the fields that the patch set, and that the server didn't store, or is nil.
	Lost *Lost `json:"lost"`
}

// Certificate is the certificate of a webhook that the server didn't accept.
type Certificate struct {
	Subject string `json:"subject"`
	// Names are the host names and IP addresses that the certificate is for.
	Names    []string  `json:"names"`
	Issuer   string    `json:"issuer"`
	NotAfter time.Time `json:"notAfter"`
	// Authorities are the subjects of the certificates in the caBundle. They are empty without a caBundle.
	Authorities []string `json:"authorities"`
}

// Lost names fields that a webhook or a policy set, and that the server didn't store.
type Lost struct {
	// Fields are the paths of the fields, such as spec.flavour. Because is the reason, such as "Widget in v1 has no such
	// field".
	Fields  []string `json:"fields"`
	Because string   `json:"because"`
}

// Times are the parts of a call's time.
type Times struct {
	// Reused is true if the call needed no new connection. Connect and TLS are 0 then.
	Reused  bool     `json:"reused"`
	Connect Duration `json:"connect"`
	TLS     Duration `json:"tls"`
	// Wait is the time from the written request to the first byte of the response.
	Wait Duration `json:"wait"`
	// Decode is the time from the first byte of the response until the response is decoded.
	Decode Duration `json:"decode"`
}

// Policy is a policy that a step considered.
type Policy struct {
	Reference
	Verdict Verdict `json:"verdict"`
	// Bindings are the bindings that were compared with the request. There are none if the policy itself doesn't match.
	Bindings []*Binding `json:"bindings"`
}

// Binding is a binding of a policy, with the evaluations of the policy.
type Binding struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Actions are the validationActions of the binding: Deny, Warn, Audit. The binding of a mutating policy has none.
	Actions []string `json:"actions"`
	// Evaluations has an evaluation for each parameter object, or one evaluation without parameters.
	Evaluations []*Evaluation `json:"evaluations"`
}

// Evaluation is one evaluation of a policy's expressions.
type Evaluation struct {
	// Param is the parameter object; nil without parameters.
	Param *Param `json:"param"`
	// Verdict has the reason Matched, or says why the match conditions or the second round left the policy out.
	Verdict Verdict `json:"verdict"`
	// Outcome is "allowed", "denied", "reported" if the binding only warns or audits, "failed", or "failed open" if the
	// failurePolicy lets the request pass. It is "" if a match condition is false, or if the
	// second round didn't evaluate the policy again.
	Outcome string `json:"outcome"`
	// Error is the error of a mutation that failed, or of a validating policy that failed before its validations.
	Error       string        `json:"error"`
	Expressions []*Expression `json:"expressions"`
	// Before and After are the object before and after the mutations. Both are empty if the mutations didn't change the
	// object.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	// Lost names the fields that the mutations set, and that the server didn't store, or is nil.
	Lost *Lost `json:"lost"`
}

// Param is a parameter object of a policy.
type Param struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace"`
	Name       string          `json:"name"`
	Object     json.RawMessage `json:"object"`
}

// Expression is an expression of a policy, and its value.
type Expression struct {
	// Field is the place in the policy, such as spec.validations[0].expression or spec.variables[0] (name).
	Field      string `json:"field"`
	Expression string `json:"expression"`
	// Value is the value in JSON. Values of expressions about Secrets are redacted unless they are true or false.
	Value string `json:"value"`
	Error string `json:"error"`
	// Message is the message of a validation that is false, or whose expression failed.
	Message string   `json:"message"`
	Took    Duration `json:"took"`
}

// Answer says whether a webhook was called for a request, or a policy was evaluated, and why or why not.
type Answer struct {
	// Webhook names the webhook, or the policy and its binding.
	Webhook Reference `json:"webhook"`
	// Called is true if the webhook was called, or the policy was evaluated, for the recorded request. If no request is
	// recorded (see the field Evaluated), Called says whether a request that creates the object would call the webhook
	// or evaluate the policy.
	Called  bool    `json:"called"`
	Verdict Verdict `json:"verdict"`
	// Again is the reason why the second round didn't call the webhook or evaluate the policy. It is nil if the second
	// round did so, or if there was no second round.
	Again *Verdict `json:"again"`
	// Sentence is the answer as a sentence.
	Sentence string `json:"sentence"`
	// Request is the id of the recorded request, or 0. Evaluated is true if no request for the object is recorded, and
	// the answer is for a request that would create the object as it is stored.
	Request   int64 `json:"request"`
	Evaluated bool  `json:"evaluated"`
}

// Duration is a time.Duration. Its JSON is text such as "1.5ms".
type Duration time.Duration

// String returns the duration in the form of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
