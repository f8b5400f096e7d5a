package trace

import "strings"

// Refusal says which step refused a request.
type Refusal struct {
	Plugin string `json:"plugin"`
	Phase  string `json:"phase"`
	Round  int    `json:"round"`
	// Webhook or Policy names the webhook or policy that refused the request. Both are nil if the plugin itself refused
	// the request.
	Webhook *Reference `json:"webhook,omitempty"`
	Policy  *Reference `json:"policy,omitempty"`
	// Fields are the fields of the webhook or policy that decided: the rule that matched the request, and the expression
	// of a policy that refused it.
	Fields []string `json:"fields,omitempty"`
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

// Is tells whether a part refused the request. The name of the part is KIND/NAME of a policy or a webhook configuration,
// KIND/NAME/PART with the binding or the webhook, or the name of the plugin.
func (r *Refusal) Is(by string) bool {
	return r.By() == by || r.Plugin == by || strings.HasPrefix(r.By(), by+"/")
}

// noun returns By after the word for the part.
func (r *Refusal) noun() string {
	switch {
	case r.Webhook != nil:
		return "webhook " + r.By()
	case r.Policy != nil:
		return r.By()
	}
	return "admission plugin " + r.By()
}
