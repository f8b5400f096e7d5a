package trial

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/listener"
)

// settleTimeout is how long a server may take to notice a configuration.
const settleTimeout = 20 * time.Second

// ReadyPath ends the paths of hooks that show whether a configuration is in effect. Their calls belong to no case.
const ReadyPath = "/ready"

// Hook is a webhook of either kind: a MutatingWebhook has every field of a ValidatingWebhook.
type Hook struct {
	admissionregistrationv1.MutatingWebhook

	// Short is the name of the hook in its case. Configurations are ordered by it.
	Short     string
	validates bool
	reply     Reply
}

// Change changes a hook from the defaults: all operations on ConfigMaps of the case, reviews of version v1, allowed.
type Change func(*Hook)

// Mutating and Validating return webhooks.
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

// On calls the hook for operations ("CREATE", "CREATE UPDATE", "*") on resources alone.
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

// Rule returns a rule; operations, and the resources after the version, are one or more.
func Rule(operations, group, version string, resources ...string) admissionregistrationv1.RuleWithOperations {
	r := admissionregistrationv1.RuleWithOperations{
		Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources},
	}
	for operation := range strings.FieldsSeq(operations) {
		r.Operations = append(r.Operations, admissionregistrationv1.OperationType(operation))
	}
	return r
}

// Fails sets the failure policy, Matches the match policy, and Reinvoked the reinvocation policy IfNeeded.
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

// Objects sets the object selector.
func Objects(key, value string) Change {
	return func(h *Hook) { h.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}} }
}

// NamespacesWith adds a requirement to the namespace selector, which also has the label of the case.
func NamespacesWith(requirements ...metav1.LabelSelectorRequirement) Change {
	return func(h *Hook) { h.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: requirements} }
}

// When adds a match condition.
func When(name, expression string) Change {
	return func(h *Hook) {
		h.MatchConditions = append(h.MatchConditions, admissionregistrationv1.MatchCondition{Name: name, Expression: expression})
	}
}

// Install makes the server call the hooks, each by a configuration of its own, and returns when all are in effect.
func (t *T) Install(hooks ...*Hook) {
	for _, h := range hooks {
		t.InstallTogether(h.Short, h)
	}
}

// InstallTogether makes the server call hooks of one kind by one configuration.
func (t *T) InstallTogether(short string, hooks ...*Hook) {
	r, o := t.Configuration(short, hooks...)
	t.Create(r, o).OK()
	t.Settle(o.Name())
}

// Configuration returns the configuration of hooks of one kind, whose calls the case records. In front of the hooks, a
// hook of the frame shows when the configuration is in effect.
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

// fields are the webhook as its kind has it.
func (h *Hook) fields() map[string]any {
	fields := decoded(encoded(h.MutatingWebhook))
	if h.validates {
		delete(fields, "reinvocationPolicy")
	}
	return fields
}

// confine makes the hook see objects of the case alone: those in its namespaces, and those of cluster scope that have
// its label. A rule without a scope is about namespaced resources, unless the hook selects objects.
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

// Own selects objects of the case, which makes a hook for resources of cluster scope safe for other users.
func (t *T) Own(h *Hook) {
	h.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{LabelCase: t.name}}
}

// ClientConfig programs a path of the listener for the hook, and returns how a server calls it.
func (t *T) ClientConfig(h *Hook) admissionregistrationv1.WebhookClientConfig {
	path := "/" + t.name + "/" + h.Short
	t.program(path, h)
	return t.Server.clientConfig(path)
}

// program makes a path of the listener that of the hook.
func (t *T) program(path string, h *Hook) {
	short, reply := h.Short, h.reply
	program := t.Server.hooks.Handle(path, func(w http.ResponseWriter, r *http.Request, raw *listener.Call) {
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

// concerns tells whether a call belongs to the case: controllers of the server also write to the namespaces of the case,
// and objects that show whether a configuration is in effect are the frame's.
func (t *T) concerns(call *Call) bool {
	user := call.Review.At("request.userInfo.username")
	return call.Review.Sub("request.object.metadata.labels")[LabelReady] == nil && (user == nil || t.Server.user == "" || user == t.Server.user)
}

// readyHook returns the fields of a hook that refuses the object of the same name in the namespace of ready objects.
func (t *T) readyHook(name string, validates bool) map[string]any {
	path := "/" + name + ReadyPath
	if validates {
		path = "/" + name + "/validating" + ReadyPath
	}
	program := t.Server.hooks.Handle(path, func(w http.ResponseWriter, _ *http.Request, raw *listener.Call) {
		call := &Call{Call: raw, Review: decoded(raw.Body)}
		write(w, call, Response{"allowed": false, "status": Object{"code": http.StatusForbidden, "message": readyMessage(name)}})
	})
	t.mu.Lock()
	t.paths = append(t.paths, program)
	t.mu.Unlock()
	return Object{
		"name":         "ready.conformance.miniapi.dev",
		"clientConfig": t.Server.clientConfig(path),
		"rules": []any{Object{"operations": []string{"CREATE"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"},
			"resources": []string{"configmaps"}, "scope": "Namespaced"}},
		"namespaceSelector":       Object{"matchLabels": Object{LabelReady: t.Server.run}},
		"objectSelector":          Object{"matchLabels": Object{LabelReady: name}},
		"sideEffects":             "None",
		"admissionReviewVersions": []string{"v1"},
	}
}

func readyMessage(name string) string { return "configuration " + name + " is in effect" }

// Settle returns when a configuration is in effect: its hook, or its policy, refuses an object.
func (t *T) Settle(name string) {
	t.settled(name, func(a *Answer) bool { return strings.Contains(a.Object.Text("message"), readyMessage(name)) })
}

// settled tries to create an object in the namespace of ready objects until the answer shows a configuration.
func (t *T) settled(name string, shows func(*Answer) bool) {
	sent := t.last()
	t.Server.ready.Do(func() {
		o := t.Object(Namespaces, t.Server.readyNamespace()).WithLabel(LabelReady, t.Server.run)
		delete(o.Sub("metadata.labels"), LabelCase)
		// The namespace outlives the case: Close removes it.
		if a, err := t.Server.do(t.Context(), Request{Verb: http.MethodPost, Path: "/api/v1/namespaces", Body: o}); err != nil || !a.Succeeded() {
			t.FailNow("the namespace "+o.Name()+" can be created", fmt.Sprint(err))
		}
	})
	o := t.Object(ConfigMaps, name).WithLabel(LabelReady, name)
	try := Request{Verb: http.MethodPost, Path: ConfigMaps.path(t.Server.readyNamespace(), ""), Query: []string{"dryRun=All"}, Body: o}
	t.Eventually(fmt.Sprintf("configuration %s is in effect", name), settleTimeout, func() string {
		a, err := t.Server.do(t.Context(), try)
		switch {
		case err != nil:
			return err.Error()
		case !shows(a):
			return "the answer to an object that it concerns is " + a.says()
		}
		return ""
	})
	t.mu.Lock()
	t.sent = sent
	t.mu.Unlock()
}

func (s *Server) readyNamespace() string { return Prefix + s.run + "-ready" }
