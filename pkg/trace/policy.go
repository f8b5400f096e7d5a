package trace

import "encoding/json"

// Policy is a policy that a step considered.
type Policy struct {
	// Reference names the policy.
	Reference `json:",inline"`
	// Verdict says why the policy matched or not.
	Verdict  Verdict    `json:"verdict"`
	Bindings []*Binding `json:"bindings,omitempty"`

	refused bool
}

// Binding is a binding of a policy.
type Binding struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Evaluations are those of the policy's expressions, one for each object with parameters.
	Evaluations []*Evaluation `json:"evaluations,omitempty"`
}

// Evaluation is one evaluation of a policy's expressions.
type Evaluation struct {
	// Param is the name of the object with parameters, as NAMESPACE/NAME; empty without parameters.
	Param       string        `json:"param,omitempty"`
	Expressions []*Expression `json:"expressions"`
	// Before and After are the object around a policy's mutations; both are empty if the object is the same.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Expression is an expression of a policy, and its value.
type Expression struct {
	// Field is the place of the expression in the policy: spec.validations[0].expression.
	Field      string   `json:"field"`
	Expression string   `json:"expression"`
	Value      string   `json:"value,omitempty"`
	Error      string   `json:"error,omitempty"`
	Took       Duration `json:"took,omitempty"`
}
