package trial

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// settleTimeout limits the time until a new configuration is in effect.
const settleTimeout = 20 * time.Second

// ReadyPath is the suffix of the paths of webhooks that show whether a configuration is in effect. A case doesn't
// record the calls of these webhooks.
const ReadyPath = "/ready"

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

// readyHook returns the fields of a webhook that refuses only one ConfigMap: the ConfigMap that the method settled
// creates with the name of the configuration.
func (t *T) readyHook(name string, validates bool) map[string]any {
	path := "/" + name + ReadyPath
	if validates {
		path = "/" + name + "/validating" + ReadyPath
	}
	program := t.Server.hooks.Handle(path, func(w http.ResponseWriter, _ *http.Request, raw *webhookserver.Call) {
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
