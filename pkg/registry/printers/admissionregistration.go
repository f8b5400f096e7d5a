package printers

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

var (
	webhooksColumn   = Number("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration")
	paramKindColumn  = Text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy")
	policyNameColumn = Text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to")
	paramRefColumn   = Text("ParamRef", "ParamRef indicates the param resource which sets the configration param") //nolint:misspell // kube-apiserver's text
)

// MutatingWebhookConfiguration and the further kinds of the group are shown by how many
// webhooks or expressions they have.
var (
	MutatingWebhookConfiguration = Of(
		[]Column{NameColumn, webhooksColumn, AgeColumn},
		func(c *admissionregistrationv1.MutatingWebhookConfiguration) []any {
			return []any{c.Name, int64(len(c.Webhooks)), Since(c.CreationTimestamp)}
		})

	ValidatingWebhookConfiguration = Of(
		[]Column{NameColumn, webhooksColumn, AgeColumn},
		func(c *admissionregistrationv1.ValidatingWebhookConfiguration) []any {
			return []any{c.Name, int64(len(c.Webhooks)), Since(c.CreationTimestamp)}
		})

	ValidatingAdmissionPolicy = Of(
		[]Column{
			NameColumn,
			Number("Validations", "Validations indicates the number of validation rules defined in this configuration"),
			paramKindColumn,
			AgeColumn,
		},
		func(p *admissionregistrationv1.ValidatingAdmissionPolicy) []any {
			return []any{p.Name, int64(len(p.Spec.Validations)), paramKind(p.Spec.ParamKind), Since(p.CreationTimestamp)}
		})

	MutatingAdmissionPolicy = Of(
		[]Column{
			NameColumn,
			Number("Mutations", "Mutation indicates the number of mutations rules defined in this configuration"),
			paramKindColumn,
			AgeColumn,
		},
		func(p *admissionregistrationv1.MutatingAdmissionPolicy) []any {
			return []any{p.Name, int64(len(p.Spec.Mutations)), paramKind(p.Spec.ParamKind), Since(p.CreationTimestamp)}
		})

	ValidatingAdmissionPolicyBinding = Of(
		[]Column{NameColumn, policyNameColumn, paramRefColumn, AgeColumn},
		func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), Since(b.CreationTimestamp)}
		})

	MutatingAdmissionPolicyBinding = Of(
		[]Column{NameColumn, policyNameColumn, paramRefColumn, AgeColumn},
		func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), Since(b.CreationTimestamp)}
		})
)

func paramKind(k *admissionregistrationv1.ParamKind) string {
	if k == nil {
		return Unset
	}
	return k.APIVersion + "/" + k.Kind
}

// paramRef is the parameter by name or by selector. Whether it has a namespace can't be
// told from a name alone: "*" stands for it.
func paramRef(r *admissionregistrationv1.ParamRef) string {
	switch {
	case r == nil:
		return Unset
	case r.Name != "" && r.Namespace != "":
		return r.Namespace + "/" + r.Name
	case r.Name != "":
		return "*/" + r.Name
	case r.Selector != nil:
		return r.Selector.String()
	}
	return Unset
}
