package apiserver

import (
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// services has the cases about webhooks that a server calls through a Service.
var services = serviceTests()

const serviceReference = dynamic + "Service reference"

func serviceTests() []trial.Test {
	needs := []trial.Need{trial.Serves(trial.Services, trial.EndpointSlices)}
	tests := []trial.Test{
		{
			ID: "service.port", Source: serviceReference, Needs: needs,
			Promise: "A webhook in the cluster is called through its service, at the port of the reference.",
			Run:     func(t *trial.T) { oneCallBy(t, t.Service("hook", trial.OtherPort), "/hook") },
		},
		{
			ID: "service.port.default", Source: serviceReference, Needs: needs, Promise: "The port is optional and defaults to 443.",
			Run: func(t *trial.T) { oneCallBy(t, t.Service("hook", trial.DefaultPort), "/hook") },
		},
		{
			ID: "service.path", Source: serviceReference, Needs: needs,
			Promise: "The path of the reference is sent in each request to the service.",
			Run: func(t *trial.T) {
				call := oneCallBy(t, t.Service("hook", trial.OtherPort), "/a/long/path")
				t.Equal("the path of the call", "/a/long/path", call.Path)
			},
		},
		{
			ID: "service.path.default", Source: serviceReference, Needs: needs, Promise: "The path is optional and defaults to /.",
			Run: func(t *trial.T) {
				call := oneCallBy(t, t.Service("hook", trial.OtherPort), "")
				t.Equal("the path of the call", "/", call.Path)
			},
		},
		{
			ID: "service.serverName", Source: dynamic + "Webhook configuration", Needs: needs,
			Promise: "The TLS connection is verified for SERVICE.NAMESPACE.svc: the handshake names this server.",
			Run: func(t *trial.T) {
				service := t.Service("hook", trial.OtherPort)
				call := oneCallBy(t, service, "/hook")
				t.Equal("the server name of the handshake", service.Host(), call.ConnectionName)
			},
		},
		{
			ID: "service.certificate", Source: dynamic + "Webhook configuration", Needs: needs,
			Promise: "The server cert must be valid for SERVICE.NAMESPACE.svc: a certificate for another name fails the call.",
			Run: func(t *trial.T) {
				hook := trial.Validating("hook", trial.Allow())
				t.UncertifiedService("hook", trial.OtherPort).Calls(hook, "/hook")
				t.Install(hook)
				refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
				t.Called()
			},
		},
	}
	return append(tests, failingServiceTests()...)
}

// failingServiceTests returns cases with a Service that leads to no webhook, for each cause and each failure policy.
// These cases also run on a server that can't reach the suite.
func failingServiceTests() []trial.Test {
	var tests []trial.Test
	for _, way := range []struct {
		id, because string
		service     func(*trial.T)
	}{
		{"missing", "a service that doesn't exist", func(*trial.T) {}},
		{"noEndpoints", "a service without endpoints", func(t *trial.T) { t.BareService("hook", trial.OtherPort) }},
		{"otherPort", "a port that the service doesn't have", func(t *trial.T) { t.BareService("hook", trial.DefaultPort) }},
	} {
		hooks := func(t *trial.T, policy admissionregistrationv1.FailurePolicyType) {
			way.service(t)
			for _, hook := range pairOf(trial.Allow(), trial.Fails(policy), trial.Within(2)) {
				t.Refer(hook, "hook", trial.OtherPort)
				t.Install(hook)
			}
		}
		tests = append(tests, trial.Test{
			ID: "service.fail." + way.id, Source: dynamic + "Failure policy", Needs: []trial.Need{trial.Serves(trial.Services)},
			Promise: "Fail means that an error calling the webhook causes the admission to fail and the API request to be rejected: " + way.because + ".",
			Run: func(t *trial.T) {
				hooks(t, admissionregistrationv1.Fail)
				refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
				t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
			},
		}, trial.Test{
			ID: "service.ignore." + way.id, Source: dynamic + "Failure policy", Needs: []trial.Need{trial.Serves(trial.Services)},
			Promise: "Ignore means that an error calling the webhook is ignored and the API request is allowed to continue: " + way.because + ".",
			Run: func(t *trial.T) {
				hooks(t, admissionregistrationv1.Ignore)
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			},
		})
	}
	return tests
}

// oneCallBy makes the server call a webhook through a Service, and returns the call. The webhook refuses the request,
// and the client must get the refusal.
func oneCallBy(t *trial.T, service *trial.Service, path string) *trial.Call {
	hook := trial.Validating("hook", trial.Deny(http.StatusTeapot, "by a service"))
	service.Calls(hook, path)
	t.Install(hook)
	t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "by a service")
	calls := t.Calls("hook")
	t.Called("hook")
	return calls[0]
}
