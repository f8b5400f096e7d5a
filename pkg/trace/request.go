package trace

import (
	"encoding/json"
	"slices"
	"time"
)

// Request is a request to the API that reached admission, or that met a fault.
type Request struct {
	// ID numbers the requests in the order in which they ended, from 1.
	ID int64 `json:"id"`
	// AuditID is the id of the request in its response (header Audit-Id) and in the audit log.
	AuditID  string    `json:"auditID,omitempty"`
	Received time.Time `json:"received"`
	Took     Duration  `json:"took"`
	User     User      `json:"user"`
	// UserAgent is the client's User-Agent.
	UserAgent string `json:"userAgent,omitempty"`
	// Verb is the verb of the API: create, update, patch, delete, deletecollection, or one of a connection.
	Verb string `json:"verb"`
	Resource
	// Path is the path of a request that isn't for a resource. Such a request is recorded only if it met a fault.
	Path      string `json:"path,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Name is empty for deletecollection, and for a new object whose name the server didn't come to make.
	Name   string `json:"name,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
	// Faults are the faults that the server injected into the request itself. Those of webhooks are in their calls.
	Faults []Fault `json:"faults,omitempty"`

	// Admissions are the passes through the chain. Most requests have one. A deletecollection has one for each object,
	// and an update that meets another update has one for each attempt.
	Admissions []*Admission `json:"admissions"`

	// Code is the HTTP status of the response. It is 0 if the connection was cut.
	Code int `json:"code"`
	// Error is the error of the response; nil without one.
	Error *Error `json:"error,omitempty"`
	// Stripped says that the objects and reviews of the request, or of all requests at that time, were larger than the
	// recorder's limit, so some are missing.
	Stripped bool `json:"stripped,omitempty"`
}

// Resource is a resource, or a subresource.
type Resource struct {
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
}

// String returns the resource as rules of webhooks name it, with its group: deployments.apps/scale.
func (r Resource) String() string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return name
}

// Kind is the kind of an object.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// User is the user of a request. For a request that impersonates, it is the impersonated one.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Error is a Status that refuses something.
type Error struct {
	Code    int    `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// Admission is one pass of an object through the chain.
type Admission struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT.
	Operation string `json:"operation"`
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Object is the object as the client asked for it, with defaults. OldObject is the stored one.
	Object    json.RawMessage `json:"object,omitempty"`
	OldObject json.RawMessage `json:"oldObject,omitempty"`
	// Steps are the calls of plugins, in order.
	Steps []*Step `json:"steps"`
	// Validation is what happens to the object between the mutating and the validating steps; nil if the request ended
	// before, or has no object to check.
	Validation *Validation `json:"validation,omitempty"`
	// Admitted is the object that passed validation, and is stored unless a validating step refuses.
	Admitted json.RawMessage `json:"admitted,omitempty"`
	// Refused is the error of the step that refused the request; nil if none did.
	Refused *Refusal `json:"refused,omitempty"`

	// mutated is the end of the mutating steps, and validating says that validating steps have begun.
	mutated    Duration
	validating bool
	// spare has room for further steps: each on its own would be garbage collected on its own.
	spare []Step
}

// stepsAtOnce is about the number of steps of a request without a second round.
const stepsAtOnce = 28

// add adds a step.
func (a *Admission) add(step Step) *Step {
	if len(a.spare) == 0 {
		a.spare = make([]Step, stepsAtOnce)
		a.Steps = slices.Grow(a.Steps, stepsAtOnce)
	}
	added := &a.spare[0]
	a.spare = a.spare[1:]
	*added = step
	a.Steps = append(a.Steps, added)
	return added
}

// Phases of a step.
const (
	Mutating   = "mutating"
	Validating = "validating"
)

// Step is a call of a plugin.
type Step struct {
	Plugin string `json:"plugin"`
	// Phase is Mutating or Validating.
	Phase string `json:"phase"`
	// Round is 0, or 1 when the mutating plugins run again because a webhook or a policy has changed the object.
	Round int `json:"round"`
	// Start is the time since the request was received.
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	// Exempt says why the plugin considered none of its webhooks or policies; nil if it did.
	Exempt   *Verdict   `json:"exempt,omitempty"`
	Webhooks []*Webhook `json:"webhooks,omitempty"`
	Policies []*Policy  `json:"policies,omitempty"`
	// Before and After are the object around a step that changed it; both are empty for a step that changed nothing,
	// and for webhooks, which have their own.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Error is the error with which the plugin refused.
	Error *Error `json:"error,omitempty"`
}

// Validation is the check of an object by its kind's rules.
type Validation struct {
	Start Duration `json:"start"`
	// Took is the time from the last mutating to the first validating step, or to the response. For an update it
	// includes the read of the stored object.
	Took Duration `json:"took"`
	// Error is the error of an invalid object.
	Error *Error `json:"error,omitempty"`
}

// Refusal says which step refused.
type Refusal struct {
	Plugin string `json:"plugin"`
	Phase  string `json:"phase"`
	Round  int    `json:"round"`
	// Webhook or Policy refused, unless the plugin itself did.
	Webhook *Reference `json:"webhook,omitempty"`
	Policy  *Reference `json:"policy,omitempty"`
	Error   Error      `json:"error"`
}

// Reference names a webhook in its configuration, or a policy and its binding.
type Reference struct {
	// Kind is MutatingWebhookConfiguration, ValidatingWebhookConfiguration, MutatingAdmissionPolicy or
	// ValidatingAdmissionPolicy.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Part is the name of the webhook or of the binding. It is empty where the whole object is meant.
	Part string `json:"part,omitempty"`
}

// String returns KIND/NAME, or KIND/NAME/PART.
func (r Reference) String() string {
	name := r.Kind + "/" + r.Name
	if r.Part != "" {
		name += "/" + r.Part
	}
	return name
}

// Duration is a time.Duration that JSON shows as Go does: "1.5ms".
type Duration time.Duration

// String returns the duration rounded to three digits or so.
func (d Duration) String() string {
	exact := time.Duration(d)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if exact >= unit {
			return exact.Round(unit / 100).String()
		}
	}
	return exact.String()
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
