package trial

import (
	"maps"
	"net/http"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// Hook is a mutating or validating webhook of a case. The type MutatingWebhook has all fields of both kinds.
type Hook struct {
	admissionregistrationv1.MutatingWebhook

	// Short is the name of the hook within its case. The server calls the webhooks of different configurations in the
	// order of these names.
	Short     string
	validates bool
	reply     Reply
}

// Change changes a hook. Without changes, a hook is for all operations on ConfigMaps, and gets reviews of version v1.
type Change func(*Hook)

// Mutating returns a mutating webhook.
func Mutating(short string, reply Reply, changes ...Change) *Hook {
	h := &Hook{Short: short, reply: reply}
	h.Name = short + ".conformance.miniapi.dev"
	none := admissionregistrationv1.SideEffectClassNone
	h.SideEffects = &none
	h.AdmissionReviewVersions = []string{"v1"}
	On("*", ConfigMaps)(h)
	for _, change := range changes {
		change(h)
	}
	return h
}

// Validating returns a validating webhook.
func Validating(short string, reply Reply, changes ...Change) *Hook {
	h := Mutating(short, reply, changes...)
	h.validates = true
	return h
}

// On sets the operations ("CREATE", "CREATE UPDATE", "*") and the resources of the hook's rules.
func On(operations string, resources ...Resource) Change {
	return func(h *Hook) {
		h.Rules = nil
		for _, r := range resources {
			name := r.Name
			if r.Subresource != "" {
				name += "/" + r.Subresource
			}
			h.Rules = append(h.Rules, Rule(operations, r.Group, r.Version, name))
		}
	}
}

// Rules replaces the rules.
func Rules(rules ...admissionregistrationv1.RuleWithOperations) Change {
	return func(h *Hook) { h.Rules = rules }
}

// Rule returns a rule of a webhook. Blanks separate the operations, as in "CREATE UPDATE".
func Rule(operations, group, version string, resources ...string) admissionregistrationv1.RuleWithOperations {
	r := admissionregistrationv1.RuleWithOperations{
		Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources},
	}
	for operation := range strings.FieldsSeq(operations) {
		r.Operations = append(r.Operations, admissionregistrationv1.OperationType(operation))
	}
	return r
}

// Fails sets the failure policy.
func Fails(policy admissionregistrationv1.FailurePolicyType) Change {
	return func(h *Hook) { h.FailurePolicy = &policy }
}

// Matches sets the match policy.
func Matches(policy admissionregistrationv1.MatchPolicyType) Change {
	return func(h *Hook) { h.MatchPolicy = &policy }
}

// Reinvoked sets the reinvocation policy.
func Reinvoked(policy admissionregistrationv1.ReinvocationPolicyType) Change {
	return func(h *Hook) { h.ReinvocationPolicy = &policy }
}

// Replying sets the reply.
func Replying(reply Reply) Change { return func(h *Hook) { h.reply = reply } }

// Within sets the timeout.
func Within(seconds int32) Change { return func(h *Hook) { h.TimeoutSeconds = &seconds } }

// Reviews sets the versions of reviews.
func Reviews(versions ...string) Change {
	return func(h *Hook) { h.AdmissionReviewVersions = versions }
}

// Objects sets an object selector that requires a label.
func Objects(key, value string) Change {
	return func(h *Hook) { h.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}} }
}

// NamespacesWith sets the requirements of the namespace selector. T adds the label of the case to the selector.
func NamespacesWith(requirements ...metav1.LabelSelectorRequirement) Change {
	return func(h *Hook) { h.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: requirements} }
}

// When adds a match condition.
func When(name, expression string) Change {
	return func(h *Hook) {
		h.MatchConditions = append(h.MatchConditions, admissionregistrationv1.MatchCondition{Name: name, Expression: expression})
	}
}

// Install creates a configuration for each hook, and returns when all configurations are in effect.
func (t *T) Install(hooks ...*Hook) {
	for _, h := range hooks {
		t.InstallTogether(h.Short, h)
	}
}

// InstallTogether creates one configuration for several hooks of the same kind, and returns when it is in effect. If
// Unreached returns an error, InstallTogether ends the case at once.
func (t *T) InstallTogether(short string, hooks ...*Hook) {
	if err := t.Server.Unreached(); err != nil {
		t.FailNow("the server calls the webhooks of the suite", err.Error())
	}
	r, o := t.Configuration(short, hooks...)
	t.Create(r, o).OK()
	last := "no answer"
	settled := false
	defer func() { // runs even if the method settled ends the case
		if !settled && t.Server.context.Err() == nil {
			t.Server.unreached.CompareAndSwap(nil, &last)
		}
	}()
	t.settled(o.Name(), func(a *Answer) bool {
		last = a.says()
		return isReady(a, o.Name())
	})
	settled = true
}

// Configuration returns a configuration for hooks of the same kind. The case records the calls of the hooks. The first
// webhook of the configuration is an additional one, which shows when the configuration is in effect.
func (t *T) Configuration(short string, hooks ...*Hook) (Resource, Object) {
	r := MutatingConfigurations
	if hooks[0].validates {
		r = ValidatingConfigurations
	}
	o := t.Object(r, t.Name(short))
	webhooks := []any{t.readyHook(o.Name(), hooks[0].validates)}
	for _, h := range hooks {
		t.confine(h)
		if h.ClientConfig.URL == nil && h.ClientConfig.Service == nil {
			h.ClientConfig = t.ClientConfig(h)
		}
		webhooks = append(webhooks, h.fields())
	}
	o["webhooks"] = webhooks
	return r, o
}

// fields returns the fields of the webhook that exist for its kind.
func (h *Hook) fields() map[string]any {
	fields := decoded(encoded(h.MutatingWebhook))
	if h.validates {
		delete(fields, "reinvocationPolicy")
	}
	return fields
}

// confine limits the hook to the namespaces of the case. A rule without a scope gets the scope Namespaced, unless the
// hook has an object selector or match conditions: these fields then select the cluster-scoped objects.
func (t *T) confine(h *Hook) {
	namespaces := metav1.LabelSelector{}
	if h.NamespaceSelector != nil {
		namespaces = *h.NamespaceSelector.DeepCopy()
	}
	namespaces.MatchLabels = maps.Clone(namespaces.MatchLabels)
	if namespaces.MatchLabels == nil {
		namespaces.MatchLabels = map[string]string{}
	}
	namespaces.MatchLabels[LabelCase] = t.name
	h.NamespaceSelector = &namespaces
	for i := range h.Rules {
		if h.Rules[i].Scope == nil && h.ObjectSelector == nil && len(h.MatchConditions) == 0 {
			scope := admissionregistrationv1.NamespacedScope
			h.Rules[i].Scope = &scope
		}
	}
}

// Own makes the hook select only objects with the label of the case. A hook for cluster-scoped resources needs this
// selector, because the server may have other users.
func (t *T) Own(h *Hook) {
	h.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{LabelCase: t.name}}
}

// ClientConfig makes the listener answer calls of the hook, and returns the clientConfig with which a server calls the
// hook.
func (t *T) ClientConfig(h *Hook) admissionregistrationv1.WebhookClientConfig {
	path := "/" + t.name + "/" + h.Short
	t.program(path, h)
	return t.Server.clientConfig(path)
}

// program makes the listener answer calls of a path with the reply of the hook. The case records these calls.
func (t *T) program(path string, h *Hook) {
	short, reply := h.Short, h.reply
	program := t.Server.hooks.Handle(path, func(w http.ResponseWriter, r *http.Request, raw *webhookserver.Call) {
		call := &Call{Call: raw, Hook: short, Review: decoded(raw.Body)}
		if !t.concerns(call) {
			write(w, call, Response{"allowed": true})
			return
		}
		t.mu.Lock()
		t.calls = append(t.calls, call)
		t.mu.Unlock()
		reply(w, r, call)
	})
	t.mu.Lock()
	t.paths = append(t.paths, program)
	t.mu.Unlock()
}

// concerns tells whether a call belongs to the case. It returns false for requests of other users, such as the server's
// controllers, if the name of the client's user is known. It also returns false for objects that show whether a
// configuration is in effect.
func (t *T) concerns(call *Call) bool {
	user := call.Review.At("request.userInfo.username")
	return call.Review.Sub("request.object.metadata.labels")[LabelReady] == nil && (user == nil || t.Server.user == "" || user == t.Server.user)
}
