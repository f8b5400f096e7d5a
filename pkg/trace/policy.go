package trace

import "encoding/json"

// Policy is a policy that a step considered.
type Policy struct {
	// Reference names the policy.
	Reference `json:",inline"`
	// Verdict says why the policy matched or not.
	Verdict  Verdict    `json:"verdict"`
	Bindings []*Binding `json:"bindings,omitempty"`

	refused *Reference
}

// Refuse records that the policy refuses the request by one of its bindings, or by itself if the binding is nil.
func (p *Policy) Refuse(binding *Binding) {
	if p.refused != nil {
		return
	}
	refused := p.Reference
	if binding != nil {
		refused.Part = binding.Name
	}
	p.refused = &refused
}

// Binding is a binding of a policy.
type Binding struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Actions are those of a validating policy's binding: Deny, Warn, Audit.
	Actions []string `json:"actions,omitempty"`
	// Evaluations are those of the policy's expressions, one for each object with parameters.
	Evaluations []*Evaluation `json:"evaluations,omitempty"`
}

// Reported is the outcome of an evaluation with a validation that is false, if the binding's actions only report it.
const Reported = "reported"

// Evaluation is one evaluation of a policy's expressions.
type Evaluation struct {
	// Param is the object with parameters; nil without parameters.
	Param *Param `json:"param,omitempty"`
	// Verdict says why the match conditions led to an evaluation, or didn't.
	Verdict Verdict `json:"verdict"`
	// Outcome is Allowed, Denied, Failed, FailedOpen or Reported. It is empty if the match conditions left the request
	// out.
	Outcome string `json:"outcome,omitempty"`
	// Error is the error of a mutation that failed.
	Error       string        `json:"error,omitempty"`
	Expressions []*Expression `json:"expressions,omitempty"`
	// Before and After are the object around a policy's mutations; both are empty if the object is the same.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Param is an object with parameters of a policy.
type Param struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name"`
	Object     json.RawMessage `json:"object,omitempty"`
}

// String names the parameters: ConfigMap default/limits.
func (p *Param) String() string {
	if p.Namespace == "" {
		return p.Kind + " " + p.Name
	}
	return p.Kind + " " + p.Namespace + "/" + p.Name
}

// Expression is an expression of a policy, and its value.
type Expression struct {
	// Field is the place of the expression in the policy: spec.validations[0].expression, spec.variables[0] (name).
	Field      string `json:"field"`
	Expression string `json:"expression"`
	// Value is the value in JSON. The values of expressions about Secrets are replaced unless they are true or false.
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
	// Message is the message of a validation that is false.
	Message string   `json:"message,omitempty"`
	Took    Duration `json:"took,omitempty"`
}
