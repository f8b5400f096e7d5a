package apiserver

import (
	"fmt"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// connections has the cases about the operation CONNECT. A validating webhook or the server itself refuses each request.
// So the server makes no connection, and the objects needn't exist.
var connections = connectionTests()

func connectionTests() []trial.Test {
	tests := []trial.Test{}
	for _, c := range []struct {
		id, kind, verb string
		resource       trial.Resource
		// name is the name of the pod, service or node. suffix is added to the path of the subresource.
		name, suffix string
		query        []string
		object       trial.Object
	}{
		{"exec", "PodExecOptions", http.MethodPost, trial.Pods.Sub("exec"), "none", "", []string{"command=ls", "command=-l", "container=main", "stdout=true"},
			trial.Object{"command": []string{"ls", "-l"}, "container": "main", "stdout": true}},
		{"attach", "PodAttachOptions", http.MethodPost, trial.Pods.Sub("attach"), "none", "",
			[]string{"container=main", "stdout=true"}, trial.Object{"container": "main", "stdout": true}},
		{"portforward", "PodPortForwardOptions", http.MethodPost, trial.Pods.Sub("portforward"), "none", "",
			[]string{"ports=80"}, trial.Object{"ports": []int{80}}},
		{"podProxy", "PodProxyOptions", http.MethodGet, trial.Pods.Sub("proxy"), "none", "/a/b", nil, trial.Object{"path": "/a/b"}},
		{"serviceProxy", "ServiceProxyOptions", http.MethodGet, trial.Services.Sub("proxy"), "none", "/healthz", nil,
			trial.Object{"path": "/healthz"}},
		{"nodeProxy", "NodeProxyOptions", http.MethodGet, nodes.Sub("proxy"), "conformance-no-such-node", "/logs", nil,
			trial.Object{"path": "/logs"}},
	} {
		tests = append(tests, trial.Test{
			ID: "connect." + c.id, Source: kep492 + "Connection Options", Needs: []trial.Need{trial.Serves(c.resource), trial.Since(30)},
			Promise: "The options of the connection are sent as the object, a " + c.kind + "; oldObject and options are null, and the operation is CONNECT.",
			Run: func(t *trial.T) {
				t.Install(trial.Mutating("mutating", trial.Allow(), trial.On("CONNECT", c.resource), trial.When("own", "request.name == '"+c.name+"'")),
					trial.Validating("validating", trial.Deny(http.StatusTeapot, "not connected"), trial.On("CONNECT", c.resource), trial.When("own", "request.name == '"+c.name+"'")))
				t.Do(trial.Request{Verb: c.verb, Path: t.Path(c.resource, c.name) + c.suffix, Query: c.query}).Refused(http.StatusTeapot, "not connected")
				for _, call := range t.Calls() {
					r := call.Request()
					want := c.object.Copy()
					want["apiVersion"], want["kind"] = "v1", c.kind
					t.Equal("operation", "CONNECT", r.At("operation"))
					t.Equal("object", want, r.At("object"))
					t.Equal("oldObject", nil, r.At("oldObject"))
					t.Equal("options", nil, r.At("options"))
					t.Equal("kind", trial.Object{"group": "", "version": "v1", "kind": c.kind}, r.At("kind"))
					t.Equal("resource.resource", c.resource.Name, r.At("resource.resource"))
					t.Equal("subResource", c.resource.Subresource, r.At("subResource"))
					t.Equal("name", c.name, r.At("name"))
				}
				t.Called("mutating", "validating")
			},
		})
	}
	return append(tests, trial.Test{
		ID: "connect.missingNamespace", Source: chain + "Connect", Needs: []trial.Need{trial.Serves(trial.Pods.Sub("exec"))},
		Promise: "A connection in a namespace that doesn't exist is refused with 404 before a webhook with a namespace selector is called.",
		Run: func(t *trial.T) {
			exec := trial.Pods.Sub("exec")
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("CONNECT", exec)))
			missing := t.Name("missing")
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(exec.In(missing), "none"), Query: []string{"command=ls"}}).Refused(http.StatusNotFound, fmt.Sprintf("namespaces %q not found", missing))
			t.Called()
		},
	})
}
