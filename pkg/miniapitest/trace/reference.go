package trace

// Kinds of webhook configurations, and the admission plugins that call their webhooks.
const (
	MutatingConfiguration   = "MutatingWebhookConfiguration"
	ValidatingConfiguration = "ValidatingWebhookConfiguration"
	MutatingPlugin          = "MutatingAdmissionWebhook"
	ValidatingPlugin        = "ValidatingAdmissionWebhook"
)

// Kinds of admission policies. The plugin that evaluates a policy has the same name.
const (
	MutatingPolicy   = "MutatingAdmissionPolicy"
	ValidatingPolicy = "ValidatingAdmissionPolicy"
)

// Reference names a webhook and its configuration, or a policy and its binding.
type Reference struct {
	// Kind is MutatingWebhookConfiguration, ValidatingWebhookConfiguration, MutatingAdmissionPolicy or
	// ValidatingAdmissionPolicy.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Part is the name of the webhook or of the binding. It is empty in a reference to a whole configuration or
	// policy.
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

// PluginOf returns the name of the plugin that calls the webhooks of a kind of webhook configuration, or that
// evaluates a kind of policy.
func PluginOf(kind string) string {
	return map[string]string{
		MutatingConfiguration: MutatingPlugin, ValidatingConfiguration: ValidatingPlugin,
		MutatingPolicy: MutatingPolicy, ValidatingPolicy: ValidatingPolicy,
	}[kind]
}

// isPolicy reports whether the reference names a policy.
func (r Reference) isPolicy() bool { return r.Kind == MutatingPolicy || r.Kind == ValidatingPolicy }
