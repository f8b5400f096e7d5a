package trial

// Policy returns a ValidatingAdmissionPolicy with validations, for the creation and the update of ConfigMaps of the
// case.
func (t *T) Policy(short string, validations ...Object) Object {
	o := t.Object(Policies, t.Name(short))
	o["spec"] = Object{"failurePolicy": "Fail", "matchConstraints": t.constraints(), "validations": validations}
	return o.Copy()
}

// constraints returns match constraints for the creation and the update of ConfigMaps in the namespaces of the case.
func (t *T) constraints() Object {
	return Object{
		"namespaceSelector": Object{"matchLabels": Object{LabelCase: t.name}},
		"resourceRules": []any{Object{"operations": []string{"CREATE", "UPDATE"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"},
			"resources": []string{"configmaps"}}},
	}
}

// Binding returns a binding of a policy, with validation actions.
func (t *T) Binding(policy Object, actions ...string) Object {
	o := t.Object(Bindings, policy.Name())
	o["spec"] = Object{"policyName": policy.Name(), "validationActions": actions}
	return o.Copy()
}

// Enforce creates a policy and its bindings, and returns when they are in effect. To detect this, Enforce creates
// another policy and waits for its effect, because a server reads policies and bindings in the order in which they are
// stored.
func (t *T) Enforce(policy Object, bindings ...Object) {
	t.Create(Policies, policy).OK()
	for _, b := range bindings {
		t.Create(Bindings, b).OK()
	}
	t.settlePolicies(policy.Name())
}

// settlePolicies returns when all stored validating policies and their bindings are in effect. The name is the beginning
// of the name of another policy, which settlePolicies creates.
func (t *T) settlePolicies(name string) {
	sent := t.last()
	marker := t.marker(name + "-ready")
	t.Settle(marker.Name())
	t.mu.Lock()
	t.sent = sent
	t.mu.Unlock()
}

// marker creates a policy with a binding. The policy refuses the object that Settle creates with the same name.
func (t *T) marker(name string) Object {
	o := t.Object(Policies, name)
	o["spec"] = Object{
		"matchConstraints": t.readyConstraints(name),
		"validations":      []any{Object{"expression": "false", "message": readyMessage(name)}},
	}
	o = o.Copy()
	t.Create(Policies, o).OK()
	t.Create(Bindings, t.Binding(o, "Deny")).OK()
	return o
}

func (t *T) readyConstraints(name string) Object {
	return Object{
		"namespaceSelector": Object{"matchLabels": Object{LabelReady: t.Server.run}},
		"objectSelector":    Object{"matchLabels": Object{LabelReady: name}},
		"resourceRules": []any{Object{"operations": []string{"CREATE"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"},
			"resources": []string{"configmaps"}}},
	}
}

// MutatingPolicy returns a MutatingAdmissionPolicy with mutations, for the creation and the update of ConfigMaps of the
// case.
func (t *T) MutatingPolicy(short string, mutations ...Object) Object {
	o := t.Object(MutatingPolicies, t.Name(short))
	o["spec"] = Object{"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": t.constraints(), "mutations": mutations}
	return o.Copy()
}

// MutatingBinding returns a binding of a mutating policy.
func (t *T) MutatingBinding(policy Object) Object {
	o := t.Object(MutatingBindings, policy.Name())
	o["spec"] = Object{"policyName": policy.Name()}
	return o.Copy()
}

// EnforceMutating creates a mutating policy and its bindings, and returns when they are in effect, as Enforce does.
func (t *T) EnforceMutating(policy Object, bindings ...Object) {
	t.Create(MutatingPolicies, policy).OK()
	for _, b := range bindings {
		t.Create(MutatingBindings, b).OK()
	}
	sent := t.last()
	name := policy.Name() + "-ready"
	o := t.Object(MutatingPolicies, name)
	o["spec"] = Object{
		"reinvocationPolicy": "Never", "matchConstraints": t.readyConstraints(name),
		"mutations": []any{ApplyMutation(`Object{metadata: Object.metadata{annotations: {"ready": "yes"}}}`)},
	}
	o = o.Copy()
	t.Create(MutatingPolicies, o).OK()
	t.Create(MutatingBindings, t.MutatingBinding(o)).OK()
	t.settled(name, func(a *Answer) bool { return a.Object.Annotation("ready") == "yes" })
	t.mu.Lock()
	t.sent = sent
	t.mu.Unlock()
}

// ApplyMutation returns a mutation of a policy by an apply configuration.
func ApplyMutation(expression string) Object {
	return Object{"patchType": "ApplyConfiguration", "applyConfiguration": Object{"expression": expression}}
}

// JSONPatchMutation returns a mutation by JSON patch.
func JSONPatchMutation(expression string) Object {
	return Object{"patchType": "JSONPatch", "jsonPatch": Object{"expression": expression}}
}
