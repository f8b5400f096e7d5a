package trace

import "encoding/json"

// Policy is a policy that a step evaluated, or considered and ruled out.
type Policy struct {
	// Reference names the policy.
	Reference `json:",inline"`
	// Verdict says why the policy matched the request, or why it didn't.
	Verdict  Verdict    `json:"verdict"`
	Bindings []*Binding `json:"bindings,omitempty"`
}

// Decided returns the verdict about the binding with a name, or about its decisive evaluation if the binding applies. It
// returns the zero value if the policy failed before its bindings were considered.
func (p *Policy) Decided(binding string) Verdict {
	for _, b := range p.Bindings {
		if b.Name == binding {
			return b.verdict()
		}
	}
	return Verdict{}
}

// Binding is a binding of a policy.
type Binding struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Actions are the validationActions of a ValidatingAdmissionPolicyBinding: Deny, Warn, Audit.
	Actions []string `json:"actions,omitempty"`
	// Evaluations are the evaluations of the policy's expressions: one for each parameter object that the binding
	// selects, or a single evaluation if the policy has no paramKind or the binding no paramRef.
	Evaluations []*Evaluation `json:"evaluations,omitempty"`
}

// Reported is the outcome of an evaluation in which a validation was false or failed, but the binding's actions don't
// include Deny. The evaluation doesn't refuse the request, and the client or the audit log gets the message.
const Reported = "reported"

// Evaluation is one evaluation of a policy's expressions.
type Evaluation struct {
	// Param is the parameter object of the evaluation; nil for an evaluation without parameters.
	Param *Param `json:"param,omitempty"`
	// Verdict has the reason Matched if the policy's validations or mutations were evaluated. Otherwise it says why the
	// match conditions, or the reinvocationPolicy in the second round, ruled the policy out.
	Verdict Verdict `json:"verdict"`
	// Outcome is Allowed, Denied, Failed, FailedOpen or Reported. It is empty if a match condition is false, or if the
	// second round didn't evaluate the policy again.
	Outcome string `json:"outcome,omitempty"`
	// Error is the error of a mutation that failed, or of a validating policy that failed before its validations.
	Error       string        `json:"error,omitempty"`
	Expressions []*Expression `json:"expressions,omitempty"`
	// Before and After are the object before and after the mutations of a MutatingAdmissionPolicy. Both are empty
	// if the mutations changed nothing.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Lost names the fields that the mutations set, and that the server didn't store; nil if there are none. It is nil
	// until the request is read from the server.
	Lost *Lost `json:"lost,omitempty"`
}

// Param is a parameter object of a policy. The expressions of the policy read it as the variable params.
type Param struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name"`
	Object     json.RawMessage `json:"object,omitempty"`
}

// String returns the kind and the name of the parameter object, such as "ConfigMap default/limits".
func (p *Param) String() string {
	if p.Namespace == "" {
		return p.Kind + " " + p.Name
	}
	return p.Kind + " " + p.Namespace + "/" + p.Name
}

// Expression is one CEL expression of a policy, with the value that its evaluation gave.
type Expression struct {
	// Field is the path of the expression in the policy, such as "spec.validations[0].expression" or
	// "spec.variables[0] (name)".
	Field      string `json:"field"`
	Expression string `json:"expression"`
	// Value is the value in JSON. If the object or the policy's parameter is of a kind with secrets, such as Secret,
	// values other than true and false are redacted, unless the server records secrets (--trace-secrets).
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
	// Message is the message of a validation whose expression is false, or failed.
	Message string   `json:"message,omitempty"`
	Took    Duration `json:"took,omitempty"`
	// Parts are the evaluated parts of a validation or a match condition that is false or failed, with their values. A macro
	// such as LIST.all(x, P) also has the part LIST.map(x, P): the value of P for each element until P has decided.
	Parts []Part `json:"parts,omitempty"`
	// Branches are the conditions of the expression, if the server records them (--trace-branches): the operands of && and
	// ||, the conditions of ?:, the predicates of macros, and has(), in the order of the text.
	Branches []Branch `json:"branches,omitempty"`
}

// Branch is a condition within an expression, with the numbers of evaluations in which it was true and in which it was
// false. Both are 0 if the operators before it have decided without it.
type Branch struct {
	Expression string `json:"expression"`
	True       int    `json:"true"`
	False      int    `json:"false"`
}

// Part is a part of an expression, with its value or its error.
type Part struct {
	Expression string `json:"expression"`
	Value      string `json:"value,omitempty"`
	Error      string `json:"error,omitempty"`
}

// String returns the part with its value, each on one line and cut if it is long.
func (p Part) String() string {
	if p.Error != "" {
		return shortened(p.Expression) + " failed: " + shortened(p.Error)
	}
	return shortened(p.Expression) + " = " + shortened(p.Value)
}
