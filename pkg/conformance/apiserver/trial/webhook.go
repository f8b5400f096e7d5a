package trial

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/listener"
)

// settleTimeout limits the time until a new configuration is in effect.
const settleTimeout = 20 * time.Second

// ReadyPath is the suffix of the paths of webhooks that show whether a configuration is in effect. A case doesn't
// record the calls of these webhooks.
const ReadyPath = "/ready"

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

// Unreached returns an error if a configuration wasn't in effect in time, and the server has called no webhook with
// ReadyPath in the run. The error has the server's answer to a request that the configuration selects.
func (s *Server) Unreached() error {
	last := s.unreached.Load()
	if last == nil || s.called.Load() {
		return nil
	}
	if s.inCluster != nil {
		return fmt.Errorf("no call of a webhook arrives by the service in the namespace %s: %s: the network must let the server connect to the service and to port 8443 of its pod", s.clusterNamespace(), *last)
	}
	return fmt.Errorf("no call of a webhook arrives at %s: %s: --webhook-address must be an address of this machine that the server can connect to; with --webhook-image, the server calls the webhooks at a Service in its cluster", s.hooks.URL("/"), *last)
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

// concerns tells whether a call belongs to the case. It returns false for requests of other users, such as the server's
// controllers, if the name of the client's user is known. It also returns false for objects that show whether a
// configuration is in effect.
func (t *T) concerns(call *Call) bool {
	user := call.Review.At("request.userInfo.username")
	return call.Review.Sub("request.object.metadata.labels")[LabelReady] == nil && (user == nil || t.Server.user == "" || user == t.Server.user)
}

// readyHook returns the fields of a webhook that refuses only one ConfigMap: the ConfigMap that the method settled
// creates with the name of the configuration.
func (t *T) readyHook(name string, validates bool) map[string]any {
	path := "/" + name + ReadyPath
	if validates {
		path = "/" + name + "/validating" + ReadyPath
	}
	program := t.Server.hooks.Handle(path, func(w http.ResponseWriter, _ *http.Request, raw *listener.Call) {
		t.Server.called.Store(true)
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

// Settle returns when a configuration of webhooks, or a policy, is in effect: when the server refuses an object whose
// label LabelReady has the value name.
func (t *T) Settle(name string) {
	t.settled(name, func(a *Answer) bool { return isReady(a, name) })
}

// isReady tells whether an answer is a refusal by the webhook configuration or the policy with the name.
func isReady(a *Answer, name string) bool {
	return strings.Contains(a.Object.Text("message"), readyMessage(name))
}

// settled creates a ConfigMap whose label LabelReady has the value name, by a dry run in a separate namespace. It
// repeats the dry run until shows returns true for the answer.
func (t *T) settled(name string, shows func(*Answer) bool) {
	sent := t.last()
	t.Server.ready.Do(func() {
		o := t.Object(Namespaces, t.Server.readyNamespace()).WithLabel(LabelReady, t.Server.run)
		delete(o.Sub("metadata.labels"), LabelCase)
		// The namespace is removed at the end of the run, not of the case, because other cases use the namespace, too.
		a, err := t.Server.do(t.Context(), Request{Verb: http.MethodPost, Path: "/api/v1/namespaces", Body: o})
		if err == nil && !a.Succeeded() {
			err = errors.New(a.says())
		}
		if err != nil {
			t.FailNow("the namespace "+o.Name()+" can be created", err.Error())
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
			return "the answer to an object that the configuration concerns is " + a.says()
		}
		return ""
	})
	t.mu.Lock()
	t.sent = sent
	t.mu.Unlock()
}

func (s *Server) readyNamespace() string { return Prefix + s.run + "-ready" }
