package trace

import (
	"encoding/json"
	"time"
)

// Request is the record of an API request that reached admission, of a write that authorization refused, or of a
// request into which a fault was injected.
type Request struct {
	// ID is the number of the request, from 1, in the order in which requests ended.
	ID int64 `json:"id"`
	// AuditID is the id of the request in its response (header Audit-Id) and in the audit log.
	AuditID  string    `json:"auditID,omitempty"`
	Received time.Time `json:"received"`
	Took     Duration  `json:"took"`
	User     User      `json:"user"`
	// UserAgent is the client's User-Agent.
	UserAgent string `json:"userAgent,omitempty"`
	// Verb is the verb of the API request, such as create or deletecollection. A request with the operation CONNECT has
	// the verb of its HTTP method, such as get for pods/exec. A request that only reads is recorded only if a fault was
	// injected into it.
	Verb string `json:"verb"`
	Resource
	// Path is the URL path of a request that isn't for a resource. Such a request is recorded only if a fault was
	// injected into it.
	Path      string `json:"path,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object. It is empty for deletecollection, for a create with generateName that failed
	// before the server generated the name, and for most creates that authorization refused (see Forbidden).
	Name   string `json:"name,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
	// Faults are the faults that the server injected into the request itself. Faults that were injected into calls
	// of webhooks are in Call.Fault.
	Faults []Fault `json:"faults,omitempty"`

	// Admissions are the passes through the admission chain. Most requests have one pass. A deletecollection has a pass
	// for each object. An update that conflicts with another update is tried again, with a pass for each try.
	Admissions []*Admission `json:"admissions"`

	// Code is the HTTP status of the response. It is 0 if the connection was cut.
	Code int `json:"code"`
	// Forbidden is true if authorization refused the request, so that it didn't reach admission. Authorization runs
	// before the server reads the body, and the path of a create request names the object only if the request is for a
	// subresource. So Name is empty for other create requests.
	Forbidden bool `json:"forbidden,omitempty"`
	// Error is the error in the response; nil if the request succeeded.
	Error *Error `json:"error,omitempty"`
	// Stripped is true if objects or reviews of the request are missing, because they would have exceeded the server's
	// limit (--trace-bytes).
	Stripped bool `json:"stripped,omitempty"`
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

// Redacted takes the place of a secret value.
const Redacted = "(redacted)"

// Resource is an API resource, or a subresource if Subresource is set.
type Resource struct {
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
}

// String returns the resource with its group and subresource, such as "deployments.apps/scale".
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

// User is the user of a request. For a request with impersonation, it is the impersonated user.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Error is the part of a metav1.Status that says why a request failed.
type Error struct {
	Code    int    `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// Admission is one pass of an object through the admission chain.
type Admission struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT.
	Operation string `json:"operation"`
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Object is the object of the request, with defaults. OldObject is the stored object.
	Object    json.RawMessage `json:"object,omitempty"`
	OldObject json.RawMessage `json:"oldObject,omitempty"`
	// Steps are the calls of plugins, in the order of the calls.
	Steps []*Step `json:"steps"`
	// Validation is the check of the object between the mutating and the validating steps. It is nil if the request
	// ended before the check, or if the operation has no object to check.
	Validation *Validation `json:"validation,omitempty"`
	// Admitted is the object that passed validation.
	Admitted json.RawMessage `json:"admitted,omitempty"`
	// Stored is the object of a custom resource as the server stored it, in the version of the request. It may differ
	// from Admitted: the server removes fields that the schema doesn't have, and converts the object. StoredVersion is
	// the version in which the storage keeps the object. Both are empty if the server stored nothing, as in a dry run,
	// and for built-in kinds, whose Admitted is stored.
	Stored        json.RawMessage `json:"stored,omitempty"`
	StoredVersion string          `json:"storedVersion,omitempty"`
	// Refused says which step refused the request, and with which error; nil if no step refused.
	Refused *Refusal `json:"refused,omitempty"`
}

// The phases of a step.
const (
	Mutating   = "mutating"
	Validating = "validating"
)

// Step is one call of an admission plugin.
type Step struct {
	Plugin string `json:"plugin"`
	// Phase is Mutating or Validating.
	Phase string `json:"phase"`
	// Round is 0 for the first call of the plugin. It is 1 when the mutating plugins run again, because a webhook
	// or a policy has changed the object.
	Round int `json:"round"`
	// Start is the time since the request was received.
	Start Duration `json:"start"`
	Took  Duration `json:"took"`
	// Exempt says why the plugin considered none of its webhooks or policies for this request. It is nil if the
	// plugin considered them.
	Exempt   *Verdict   `json:"exempt,omitempty"`
	Webhooks []*Webhook `json:"webhooks,omitempty"`
	Policies []*Policy  `json:"policies,omitempty"`
	// Before and After are the object before and after a step that changed it. Both are empty for a step that changed
	// nothing. Both are also empty for a step with webhooks or policies, because each Call and each Evaluation has its
	// own Before and After.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Error is the error with which the plugin refused the request.
	Error *Error `json:"error,omitempty"`
}

// Validation is the check of an object by its kind's validation.
type Validation struct {
	Start Duration `json:"start"`
	// Took is the time from the last mutating step to the first validating step. For an update, it includes the time to
	// read the stored object. It is 0 if the object is invalid.
	Took Duration `json:"took"`
	// Error is the error in the response if the object is invalid.
	Error *Error `json:"error,omitempty"`
}

// Duration is a time.Duration that marshals to JSON as text, such as "1.5ms".
type Duration time.Duration

// String returns the duration with at most two decimal places of its unit, such as "1.5ms" or "731.12ms".
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

// Labels returns the labels of an object that is given in JSON.
func Labels(object json.RawMessage) map[string]string {
	var decoded struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(object, &decoded) // an object that can't be decoded has no labels
	return decoded.Metadata.Labels
}
