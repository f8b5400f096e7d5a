package conformance_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
)

// For each mutation, the cases in caughtBy fail. Without a mutation, the same cases pass, so the failures come from
// the mutation.
func TestMutations(t *testing.T) {
	t.Parallel()
	good := goodServer(t)
	names, cases := map[string]bool{}, []string{}
	for _, m := range allMutations() {
		if names[m.name] {
			t.Errorf("two mutations have the name %q", m.name)
		}
		names[m.name] = true
		cases = append(cases, strings.Fields(m.caughtBy)...)
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		results, err := apiserver.Run(t.Context(), (&mutation{}).target(t, good), conformance.Options{Selection: conformance.Selection{Only: cases}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Status != conformance.Passed {
				t.Errorf("%s: want it to pass on a good server, got %s: %s %v", r.ID, r.Status, r.Reason, r.Findings)
			}
		}
	})
	for _, m := range allMutations() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			selection := conformance.Selection{Only: strings.Fields(m.caughtBy)}
			results, err := apiserver.Run(t.Context(), m.target(t, good), conformance.Options{Selection: selection})
			if err != nil {
				t.Fatal(err)
			}
			if len(results) < len(selection.Only) {
				t.Errorf("the server %s: want a case for each of %s, got %d", m.name, m.caughtBy, len(results))
			}
			for _, r := range results {
				if r.Status != conformance.Failed {
					t.Errorf("the server %s: want the case %s to fail, got %s %s", m.name, r.ID, r.Status, r.Reason)
				}
			}
		})
	}
}

// Each case of the suite fails for at least one mutation.
func TestEachCaseHasAMutation(t *testing.T) {
	t.Parallel()
	var caught []string
	for _, m := range allMutations() {
		caught = append(caught, strings.Fields(m.caughtBy)...)
	}
	for _, c := range apiserver.Tests() {
		has := slices.ContainsFunc(caught, func(glob string) bool {
			matched, err := path.Match(glob, c.ID)
			return err == nil && matched
		})
		if !has {
			t.Errorf("case %s: want a mutation that breaks its promise", c.ID)
		}
	}
}

// allMutations returns the mutations of all files.
func allMutations() []mutation {
	return slices.Concat(mutations, matchingMutations, policyMutations, conversionMutations, apiMutations, deletionMutations)
}

var mutations = []mutation{
	// These mutations change the reviews that webhooks get.
	{name: "sends another content type", caughtBy: "review.envelope", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Content-Type", "text/plain")
			next.ServeHTTP(w, r)
		})
	}},
	{name: "drops object of a create", caughtBy: "review.create.object", review: without("object")},
	{name: "sends oldObject with a create", caughtBy: "review.create.oldObject", review: onReviews(func(r object) { r["oldObject"] = r["object"] })},
	{name: "drops options of a create", caughtBy: "review.create.options", review: without("options")},
	{name: "drops oldObject of an update", caughtBy: "review.update.objects", review: without("oldObject")},
	{name: "sends the new object as oldObject", caughtBy: "review.update.objects", review: onReviews(func(r object) { r["oldObject"] = r["object"] })},
	{name: "drops options of an update", caughtBy: "review.update.options", review: without("options")},
	{name: "drops oldObject of a delete", caughtBy: "review.delete.oldObject", review: without("oldObject")},
	{name: "sends object with a delete", caughtBy: "review.delete.object", review: onReviews(func(r object) { r["object"] = r["oldObject"] })},
	{name: "drops options of a delete", caughtBy: "review.delete.options", review: without("options")},
	{name: "calls a put that creates an update", caughtBy: "review.putCreates", review: onReviews(func(r object) { r["operation"] = "UPDATE" })},
	{name: "sends one uid for all calls", caughtBy: "review.uid", review: func(next http.Handler) http.Handler {
		return onBodiesOfReviews(func(review object) { at(review, "request")["uid"] = "always-the-same" })(next)
	}},
	{name: "drops the name", caughtBy: "review.name", review: without("name")},
	{name: "makes up a name before it is generated", caughtBy: "review.generateName review.clusterScope.generateName", review: onReviews(func(r object) { r["name"] = "some-name" })},
	{name: "sends a namespace for resources without one", caughtBy: "review.clusterScope", review: onReviews(func(r object) { r["namespace"] = "default" })},
	{name: "drops the group of the kind", caughtBy: "review.kinds", review: onReviews(func(r object) { at(r, "kind")["group"] = "" })},
	{name: "drops requestKind", caughtBy: "match.policy.converted", review: onReviews(func(r object) { r["requestKind"] = r["kind"] })},
	{name: "calls a Scale a Deployment", caughtBy: "review.scale", review: onReviews(func(r object) { at(r, "kind")["kind"] = "Deployment" })},
	{name: "drops subResource", caughtBy: "review.status", review: without("subResource")},
	{name: "drops the groups of the user", caughtBy: "review.userInfo", review: onReviews(func(r object) { delete(at(r, "userInfo"), "groups") })},
	{name: "drops defaults", caughtBy: "review.defaults", review: onReviews(func(r object) { delete(at(r, "object", "spec"), "sessionAffinity") })},
	{name: "swallows dryRun in reviews", caughtBy: "dryRun.sideEffects.*", review: onReviews(func(r object) { r["dryRun"] = false })},
	{name: "says dryRun always", caughtBy: "dryRun.false", review: onReviews(func(r object) { r["dryRun"] = true })},
	{name: "drops dryRun of options", caughtBy: "dryRun.options", review: onReviews(func(r object) { delete(at(r, "options"), "dryRun") })},
	{name: "drops the parameter timeout", caughtBy: "timeout.parameter", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.RawQuery = ""
			next.ServeHTTP(w, r)
		})
	}},
	{name: "drops the options of a connection", caughtBy: "connect.exec connect.attach connect.portforward connect.podProxy connect.serviceProxy connect.nodeProxy", review: without("object")},
	{name: "calls a connection a create", caughtBy: "connect.podProxy", review: onReviews(func(r object) { r["operation"] = "CREATE" })},
	{name: "sends patch options", caughtBy: "patch.reviewed.merge", review: onReviews(func(r object) { at(r, "options")["kind"] = "PatchOptions" })},
	{name: "sends the patch rather than the object", caughtBy: "patch.reviewed.*", review: onReviews(func(r object) { delete(at(r, "object", "data"), "other") })},
	{name: "sends the state before other mutations", caughtBy: "reinvocation.sees", review: onReviews(func(r object) { at(r, "object", "data")["trail"] = "" })},

	// Every resource.
	{name: "reviews no subresources", caughtBy: "every.apps.v1.deployments.status", review: swallow(func(r object) bool { return r["subResource"] != nil })},
	{name: "reviews no scales of custom resources", caughtBy: "custom.every.scale", review: swallow(func(r object) bool { return r["subResource"] == "scale" })},
	{name: "reviews no deletions of collections", caughtBy: "every.core.v1.configmaps", review: swallow(func(r object) bool {
		return r["operation"] == "DELETE" && r["name"] == nil
	})},
	{name: "reviews no connections", caughtBy: "every.core.v1.pods.exec", review: swallow(func(r object) bool { return r["operation"] == "CONNECT" })},
	{name: "sends no old object of custom resources", caughtBy: "custom.every", review: without("oldObject")},
	{name: "calls dry runs of patches persistent", caughtBy: "every.core.v1.secrets", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "calls evictions pods", caughtBy: "every.core.v1.pods.eviction", review: onReviews(func(r object) { at(r, "kind")["kind"] = "Pod" })},

	// These mutations change the versions of reviews.
	{name: "sends v1beta1", caughtBy: "version.v1", review: onBodiesOfReviews(func(review object) { review["apiVersion"] = "admission.k8s.io/v1beta1" })},
	{name: "sends v1 always", caughtBy: "version.v1beta1", request: field("admissionReviewVersions", []any{"v1"})},
	{name: "prefers the last version", caughtBy: "version.firstWins version.firstWins.older", request: onWebhooks(func(w object) {
		if versions, _ := w["admissionReviewVersions"].([]any); len(versions) == 2 {
			versions[0], versions[1] = versions[1], versions[0]
		}
	})},
	{name: "takes the first version whether it knows it or not", caughtBy: "version.unknownSkipped", request: onWebhooks(func(w object) {
		versions, _ := w["admissionReviewVersions"].([]any)
		w["admissionReviewVersions"] = versions[:1]
	})},
	{name: "accepts versions that it doesn't know", caughtBy: "version.noneSupported", request: field("admissionReviewVersions", []any{"v1"})},

	// These mutations change the responses of webhooks, and the effects of the responses.
	{name: "calls twice", caughtBy: "response.allowed reinvocation.notByOwnChange reinvocation.notWithoutChange reinvocation.samePatch reinvocation.onlyCalled reinvocation.delete", review: func(next http.Handler) http.Handler {
		return onResponses(func(object, object) {})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := readAll(r.Body)
			next.ServeHTTP(httptest.NewRecorder(), withBody(r, body))
			next.ServeHTTP(w, withBody(r, body))
		}))
	}},
	{name: "calls again after a failure", caughtBy: "failure.once", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := readAll(r.Body)
			next.ServeHTTP(httptest.NewRecorder(), withBody(r, body))
			next.ServeHTTP(w, withBody(r, body))
		})
	}},
	{name: "accepts another uid", caughtBy: "response.uid.wrong", review: onResponses(func(request, response object) { response["uid"] = request["uid"] })},
	{name: "accepts no uid", caughtBy: "response.uid.missing", review: onResponses(func(request, response object) { response["uid"] = request["uid"] })},
	{name: "alters the uid", caughtBy: "response.denied.status", review: onReviews(func(r object) { r["uid"] = "altered" })},
	{name: "accepts a patch without a type", caughtBy: "response.patch.noType", review: onResponses(func(_, response object) { response["patchType"] = "JSONPatch" })},
	{name: "accepts a patch of another type", caughtBy: "response.patch.otherType", review: onResponses(func(_, response object) { response["patchType"] = "JSONPatch" })},
	{name: "ignores patches", caughtBy: "response.patch response.patch.inAnswer response.patch.metadata response.patch.scale response.patch.defaults response.patch.delete response.patch.fails response.patch.malformed patch.mutated.* dryRun.patched order.repairs order.validationBetween.*", review: onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") })},
	{name: "ignores refusals", caughtBy: "response.denied.minimal response.denied.mutating response.denied.patchIgnored response.denied.update order.refused.* order.allValidating reinvocation.denied dryRun.refused deletecollection.denied failure.ignoreIsNoPardon", review: onResponses(func(_, response object) { response["allowed"] = true })},
	{name: "ignores the code of a refusal", caughtBy: "response.denied.status", review: onResponses(func(_, response object) { delete(at(response, "status"), "code") })},
	{name: "ignores the reason of a refusal", caughtBy: "response.denied.reason", review: onResponses(func(_, response object) { delete(at(response, "status"), "reason") })},
	{name: "ignores refused deletions", caughtBy: "response.denied.delete", review: onResponses(func(request, response object) { response["allowed"] = true })},
	{name: "accepts another kind of answer", caughtBy: "response.kind.wrong", review: func(next http.Handler) http.Handler {
		return onResponses(func(object, object) {})(fixKind(next))
	}},
	{name: "drops warnings", caughtBy: "warning.allowed warning.operations", response: warningHeaders(func(int, []string) []string { return nil })},
	{name: "drops warnings of refusals", caughtBy: "warning.denied", response: warningHeaders(func(code int, warnings []string) []string {
		if code >= http.StatusBadRequest {
			return nil
		}
		return warnings
	})},
	{name: "keeps a single warning", caughtBy: "warning.all", response: warningHeaders(func(_ int, warnings []string) []string { return warnings[:min(1, len(warnings))] })},
	{name: "warns with another code", caughtBy: "warning.quoted", response: warningHeaders(func(_ int, warnings []string) []string {
		for i := range warnings {
			warnings[i] = strings.Replace(warnings[i], "299", "199", 1)
		}
		return warnings
	})},
	{name: "truncates warnings too early", caughtBy: "warning.long", response: warningHeaders(func(_ int, warnings []string) []string {
		for i := range warnings {
			warnings[i] = warnings[i][:min(100, len(warnings[i]))]
		}
		return warnings
	})},

	{name: "takes a missing verdict for a permission", caughtBy: "response.denied.absent", review: onResponses(func(_, response object) {
		if response["allowed"] == nil {
			response["allowed"] = true
		}
	})},
	{name: "limits responses to 3 MB", caughtBy: "response.large", review: onAnswersOfWebhooks(func(answer *httptest.ResponseRecorder) {
		if answer.Body.Len() > 3<<20 {
			answer.Code = http.StatusInternalServerError
		}
	})},
	{name: "ignores large patches", caughtBy: "response.patch.tooLarge", review: onResponses(func(_, response object) {
		if patch, _ := response["patch"].(string); len(patch) > 1<<20 {
			delete(response, "patch")
			delete(response, "patchType")
		}
	})},
	{name: "requires uids in v1beta1", caughtBy: "version.v1beta1.bare", review: onAnswersOfWebhooks(func(answer *httptest.ResponseRecorder) {
		review := object{}
		if json.Unmarshal(answer.Body.Bytes(), &review) != nil || at(review, "response")["uid"] == nil {
			answer.Code = http.StatusInternalServerError
		}
	})},
	{name: "drops field managers of patches", caughtBy: "review.patch.options", review: onReviews(func(r object) { delete(at(r, "options"), "fieldManager") })},
	{name: "adds field managers to options", caughtBy: "review.options.none", review: onReviews(func(r object) { at(r, "options")["fieldManager"] = "unknown" })},
	{name: "sends force", caughtBy: "review.apply.options", review: onReviews(func(r object) { at(r, "options")["force"] = true })},
	{name: "makes dry runs of connections", caughtBy: "connect.dryRun", request: query(http.MethodPost, dropped("dryRun"))},

	// These mutations change the handling of failed calls and timeouts.
	{name: "accepts requests after their timeout", caughtBy: "timeout.request", response: func(r *http.Response) {
		if r.StatusCode == http.StatusGatewayTimeout {
			r.StatusCode = http.StatusCreated
		}
	}},
	{name: "ignores errors of calls", caughtBy: "failure.fail.*", request: ifIs("failurePolicy", "Fail", "Ignore")},
	{name: "trusts any authority", caughtBy: "failure.fail.otherAuthority failure.fail.systemRoots", request: onConfigurations(func(webhooks []object) {
		for _, w := range webhooks[1:] { // the first one shows whether the configuration is in effect, so its caBundle is right
			at(w, "clientConfig")["caBundle"] = at(webhooks[0], "clientConfig")["caBundle"]
		}
	})},
	{name: "trusts certificates of other names", caughtBy: "failure.fail.otherName", request: onWebhooks(func(w object) {
		if address, is := at(w, "clientConfig")["url"].(string); is {
			at(w, "clientConfig")["url"] = strings.Replace(address, "localhost", "127.0.0.1", 1)
		}
	})},
	{name: "calls other webhooks after an error", caughtBy: "failure.ends", request: defaulted("failurePolicy", "Ignore")},
	{name: "fails always", caughtBy: "failure.ignore.* failure.ignored.next", request: ifIs("failurePolicy", "Ignore", "Fail")},
	{name: "has a longer timeout", caughtBy: "timeout.ignore", request: field("timeoutSeconds", 7)},
	{name: "doesn't wait", caughtBy: "timeout.ignore timeout.each timeout.fail", review: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	}},
	{name: "gives up early", caughtBy: "timeout.slowIsFine", request: field("timeoutSeconds", 1)},

	// These mutations change webhook configurations that clients write or read.
	{name: "defaults failurePolicy to Ignore", caughtBy: "configuration.default.failurePolicy", request: defaulted("failurePolicy", "Ignore")},
	{name: "defaults matchPolicy to Exact", caughtBy: "configuration.default.matchPolicy", request: defaulted("matchPolicy", "Exact")},
	{name: "defaults timeoutSeconds to 30", caughtBy: "configuration.default.timeoutSeconds", request: defaulted("timeoutSeconds", 30)},
	{name: "defaults reinvocationPolicy to IfNeeded", caughtBy: "configuration.default.reinvocationPolicy", request: defaulted("reinvocationPolicy", "IfNeeded")},
	{name: "defaults ports of services to 8443", caughtBy: "configuration.default.servicePort", request: onWebhooks(func(w object) {
		if service := at(w, "clientConfig", "service"); service["port"] == nil {
			service["port"] = 8443
		}
	})},
	{name: "requires unique names in v1beta1", caughtBy: "configuration.v1beta1.duplicateNames", request: func(r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "admissionregistration.k8s.io/v1beta1", "admissionregistration.k8s.io/v1", 1)
	}},
	{name: "loses timeouts of configurations", caughtBy: "configuration.v1beta1.roundTrip", response: onAnswers(http.MethodGet, func(o object) {
		webhooks, _ := o["webhooks"].([]any)
		for _, w := range webhooks {
			delete(w.(object), "timeoutSeconds")
		}
	})},
	{name: "accepts any timeout", caughtBy: "configuration.validation.timeout.more configuration.validation.timeout.zero", request: field("timeoutSeconds", 30)},
	{name: "accepts any side effects", caughtBy: "configuration.validation.sideEffects.some", request: field("sideEffects", "None")},
	{name: "accepts fragments", caughtBy: "configuration.validation.url.fragment", request: onWebhooks(func(w object) { at(w, "clientConfig")["url"] = "https://example.com/" })},
	{name: "accepts any scope", caughtBy: "configuration.validation.scope", request: ruled("scope", "*")},
	{name: "accepts conditions that don't compile", caughtBy: "configuration.validation.conditions.syntax", request: unsupported("matchConditions")},

	// Services.
	{name: "drops the port of a service", caughtBy: "service.port", request: onServices(func(s object) { delete(s, "port") })},
	{name: "calls a service at port 80 by default", caughtBy: "service.port.default", request: onServices(func(s object) { s["port"] = 80 })},
	{name: "drops the path of a service", caughtBy: "service.path", request: onServices(func(s object) { delete(s, "path") })},
	{name: "calls a service at another path by default", caughtBy: "service.path.default", request: onServices(func(s object) { s["path"] = "/admit" })},
	{name: "names another server in handshakes", caughtBy: "service.serverName", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hook" {
				r.TLS.ServerName = "hook.default.svc"
			}
			next.ServeHTTP(w, r)
		})
	}},
	{name: "ignores missing services", caughtBy: "service.fail.* service.certificate", request: field("failurePolicy", "Ignore")},
	{name: "refuses for missing services", caughtBy: "service.ignore.*", request: field("failurePolicy", "Fail")},

	// These mutations change which requests go to webhooks.
	{name: "calls webhooks for reads", caughtBy: "match.rule.none", request: func(r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/configmaps/a") {
			r.Method, r.URL.RawQuery = http.MethodPatch, "dryRun=All"
			r.Header.Set("Content-Type", "application/merge-patch+json")
			setRequestBody(r, []byte("{}"))
		}
	}},
	{name: "calls webhooks for configurations", caughtBy: "review.exempt", request: ruled("apiGroups", []any{"*"}),
		also: alsoPosts("mutatingwebhookconfigurations", "/apis/rbac.authorization.k8s.io/v1/clusterroles", func(configuration object) object {
			return object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": configuration["metadata"]}
		})},
	{name: "ignores namespace selectors", caughtBy: "match.namespaceSelector.matches match.namespaceSelector.notIn match.namespaceSelector.namespace match.namespaceSelector.name match.namespaceSelector.subresource", request: onWebhooks(func(w object) { delete(at(w, "namespaceSelector"), "matchExpressions") })},
	{name: "ignores object selectors", caughtBy: "match.objectSelector.createOther match.objectSelector.updateNeither match.objectSelector.delete match.objectSelector.connect match.bothSelectors deletecollection.objectSelector", request: unsupported("objectSelector")},
	{name: "selects by the new object alone", caughtBy: "match.objectSelector.updateOld", review: swallow(func(r object) bool { return at(r, "object", "metadata", "labels")["opt"] == nil })},
	{name: "selects no deletions", caughtBy: "match.objectSelector.delete", review: swallow(func(r object) bool { return r["operation"] == "DELETE" })},
	{name: "ignores match conditions", caughtBy: "match.conditions.anyFalse match.conditions.errorIgnore match.conditions.errorFail match.conditions.falseBeatsError match.conditions.variable.* reinvocation.condition", request: unsupported("matchConditions")},
	{name: "skips webhooks whose conditions fail", caughtBy: "match.conditions.errorFail", request: defaulted("failurePolicy", "Ignore")},
	{name: "ignores scopes", caughtBy: "match.rule.scope.namespaced match.rule.scope.cluster match.rule.scope.subresource", request: ruled("scope", "*")},
	{name: "ignores operations", caughtBy: "match.rule.operation.update match.rule.operation.create match.rule.operation.delete match.rule.operation.connect match.rule.operation.several", request: ruled("operations", []any{"*"})},
	{name: "ignores groups", caughtBy: "match.rule.group.other match.rule.group.core match.rule.group.named", request: ruled("apiGroups", []any{"*"})},
	{name: "ignores resources", caughtBy: "match.rule.resource.other match.rule.subresource.named match.rule.subresource.other", request: ruled("resources", []any{"*"})},
	{name: "counts subresources as resources", caughtBy: "match.rule.resource.allNotSubresource match.rule.resource.all match.rule.resource.notSubresource", request: ruled("resources", []any{"*/*"})},
	{name: "matches equivalent versions always", caughtBy: "match.policy.exact", request: field("matchPolicy", "Equivalent")},
	{name: "matches exact versions alone", caughtBy: "match.policy.equivalent match.policy.default match.policy.custom match.policy.status match.policy.patchedBack", request: field("matchPolicy", "Exact")},
	{name: "converts no groups", caughtBy: "match.policy.groups", request: field("matchPolicy", "Exact")},
	{name: "converts no scales", caughtBy: "match.policy.scale", request: field("matchPolicy", "Exact")},
	{name: "doesn't convert the old object", caughtBy: "match.policy.convertedOld", review: onReviews(func(r object) { at(r, "oldObject")["apiVersion"] = "autoscaling/v2" })},
	{name: "doesn't run its own plugins again", caughtBy: "reinvocation.inTree", response: onAnswers(http.MethodPost, func(o object) {
		containers, _ := at(o, "spec")["containers"].([]any)
		for _, c := range containers[min(1, len(containers)):] {
			delete(c.(object), "resources")
		}
	})},
	{name: "stores updates without what webhooks change", caughtBy: "order.validationBetween.update", review: onResponses(func(_, response object) {
		delete(response, "patch")
		delete(response, "patchType")
	})},
	{name: "reviews objects without their uid", caughtBy: "order.systemFields", review: onReviews(func(r object) { delete(at(r, "object", "metadata"), "uid") })},
	{name: "reinvokes always", caughtBy: "reinvocation.never", request: onWebhooks(func(w object) {
		if w["reinvocationPolicy"] != nil {
			w["reinvocationPolicy"] = "IfNeeded"
		}
	})},
	{name: "reinvokes never", caughtBy: "reinvocation.afterLater reinvocation.full reinvocation.partial reinvocation.onlyOptedIn reinvocation.update", request: ifIs("reinvocationPolicy", "IfNeeded", "Never")},
	{name: "reviews one object of a collection", caughtBy: "deletecollection.each", review: swallow(func(r object) bool { return at(r, "oldObject", "metadata")["name"] == "b" })},
	{name: "deletes collections without their selectors", caughtBy: "deletecollection.selected", request: query(http.MethodDelete, func(v url.Values) { v.Del("labelSelector") })},

	// These mutations change policies, their bindings, and their effects.
	{name: "warns instead of denying", caughtBy: "policy.denies", request: onSpecs("validatingadmissionpolicybindings", func(s object) { s["validationActions"] = []any{"Warn"} })},
	{name: "denies instead of warning", caughtBy: "policy.action.warn policy.action.audit policy.bindings", request: onSpecs("validatingadmissionpolicybindings", func(s object) { s["validationActions"] = []any{"Deny"} })},
	{name: "ignores match conditions of policies", caughtBy: "policy.matchConditions policy.matchConditions.error", request: onSpecs("validatingadmissionpolicies", func(s object) { delete(s, "matchConditions") })},
	{name: "ignores errors of policies", caughtBy: "policy.failure.fail", request: onSpecs("validatingadmissionpolicies", func(s object) { s["failurePolicy"] = "Ignore" })},
	{name: "ignores matchResources of bindings", caughtBy: "policy.binding.matchResources", request: onSpecs("validatingadmissionpolicybindings", func(s object) { delete(s, "matchResources") })},
	{name: "ignores reasons of validations", caughtBy: "policy.reason.Forbidden policy.reason.RequestEntityTooLarge", request: onValidations("reason")},
	{name: "ignores message expressions", caughtBy: "policy.message.expression", request: onValidations("messageExpression")},
	{name: "ignores excluded resources", caughtBy: "policy.constraints.exclude", request: onSpecs("validatingadmissionpolicies", func(s object) { delete(at(s, "matchConstraints"), "excludeResourceRules") })},
	{name: "allows missing parameters", caughtBy: "policy.params.missingDenied", request: onSpecs("validatingadmissionpolicybindings", func(s object) { at(s, "paramRef")["parameterNotFoundAction"] = "Allow" })},
	{name: "doesn't reinvoke mutating policies", caughtBy: "mutatingPolicy.reinvocation.IfNeeded mutatingPolicy.reinvocation.policies", request: onSpecs("mutatingadmissionpolicies", func(s object) { s["reinvocationPolicy"] = "Never" })},
	{name: "ignores match conditions of mutating policies", caughtBy: "mutatingPolicy.matchConditions", request: onSpecs("mutatingadmissionpolicies", func(s object) { delete(s, "matchConditions") })},

	// These mutations change the responses of conversion webhooks.
	{name: "accepts conversions with another uid", caughtBy: "conversion.uid", review: onResponses(func(request, response object) { response["uid"] = request["uid"] })},
	{name: "swallows failed conversions", caughtBy: "conversion.fails", review: onResponses(func(request, response object) {
		response["result"], response["convertedObjects"] = object{"status": "Success"}, request["objects"]
	})},

	// These mutations break promises of the API outside of admission.
	{name: "persists dry runs of creates", caughtBy: "dryRun.persistsNothing.create", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "persists dry runs of deletes", caughtBy: "dryRun.persistsNothing.delete dryRun.persistsNothing.deletecollection deletecollection.dryRun", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "persists dry runs of patches", caughtBy: "dryRun.persistsNothing.patch dryRun.persistsNothing.apply", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "sends events of dry runs", caughtBy: "dryRun.noEvent dryRun.persistsNothing.update", request: query(http.MethodPut, dropped("dryRun"))},
	{name: "lists what dry runs write", caughtBy: "dryRun.listed", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "keeps cluster IPs of dry runs", caughtBy: "dryRun.clusterIP", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "keeps node ports of dry runs", caughtBy: "dryRun.nodePort", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "releases cluster IPs in dry runs", caughtBy: "dryRun.releasesNothing", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "charges dry runs to quotas", caughtBy: "dryRun.quota", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "persists dry runs of scales", caughtBy: "dryRun.subresources", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "evicts in dry runs", caughtBy: "dryRun.eviction", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "begins deletions in dry runs", caughtBy: "dryRun.finalizers", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "ends namespaces in dry runs", caughtBy: "dryRun.namespace", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "tells policies of no dry run", caughtBy: "dryRun.policy", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "drops warnings of dry runs", caughtBy: "dryRun.warned", response: func(r *http.Response) {
		if r.Request.URL.Query().Has("dryRun") {
			r.Header.Del("Warning")
		}
	}},
	{name: "ignores resource versions of updates", caughtBy: "write.conflict", request: onBodies("PUT", "configmaps", func(o object) { delete(at(o, "metadata"), "resourceVersion") })},
	{name: "writes updates that change nothing", caughtBy: "write.unchanged.update write.unchanged.less", request: onBodies("PUT", "configmaps", func(o object) {
		at(o, "metadata")["annotations"] = object{"written": time.Now().String()}
	})},
	{name: "ignores preconditions", caughtBy: "write.precondition.uid write.precondition.version", request: onBodies("DELETE", "configmaps", func(o object) { delete(o, "preconditions") })},
	{name: "ignores unknown fields", caughtBy: "write.fieldValidation.strict", request: query(http.MethodPost, dropped("fieldValidation"))},
	{name: "forces every apply", caughtBy: "apply.conflict", request: query(http.MethodPatch, func(v url.Values) { v.Set("force", "true") })},
	{name: "never forces an apply", caughtBy: "apply.force", request: query(http.MethodPatch, dropped("force"))},
	{name: "mixes up managers", caughtBy: "apply.removes apply.creates apply.shared", request: query(http.MethodPatch, func(v url.Values) { v.Set("fieldManager", "all") })},
	{name: "ignores limits", caughtBy: "list.limit", request: query(http.MethodGet, dropped("limit"))},
	{name: "ignores label selectors", caughtBy: "list.labels", request: query(http.MethodGet, dropped("labelSelector"))},
	{name: "ignores field selectors", caughtBy: "list.fields", request: query(http.MethodGet, dropped("fieldSelector"))},
	{name: "lists the latest state for any version", caughtBy: "list.exact", request: query(http.MethodGet, func(v url.Values) { v.Del("resourceVersion"); v.Del("resourceVersionMatch") })},
	{name: "loses deletions in watches", caughtBy: "watch.order", response: onEvents(func(e object) object {
		if e["type"] == "DELETED" {
			return nil
		}
		return e
	})},
	{name: "loses an event in the middle", caughtBy: "watch.continuity", response: onEvents(func(e object) object {
		if at(e, "object", "metadata")["name"] == "c17" {
			return nil
		}
		return e
	})},
	{name: "begins watches anew", caughtBy: "watch.versions", request: func(r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			query(http.MethodGet, dropped("resourceVersion"))(r)
		}
	}},
	{name: "calls all changes MODIFIED", caughtBy: "watch.selector watch.initial", response: onEvents(func(e object) object {
		e["type"] = "MODIFIED"
		return e
	})},
	{name: "never ends watches", caughtBy: "watch.timeout", request: query(http.MethodGet, func(v url.Values) {
		if v.Has("timeoutSeconds") {
			v.Set("timeoutSeconds", "600")
		}
	})},
	{name: "sends no bookmark", caughtBy: "watch.bookmarks", response: onEvents(func(e object) object {
		if e["type"] == "BOOKMARK" {
			return nil
		}
		return e
	})},
	{name: "ignores finalizers", caughtBy: "finalizer.holds", request: onBodies("POST", "configmaps", func(o object) { delete(at(o, "metadata"), "finalizers") })},
	{name: "deletes namespaces at once", caughtBy: "namespace.phase", response: onAnswers(http.MethodGet, func(o object) { delete(at(o, "status"), "phase") })},
	{name: "answers updates of status with the whole object", caughtBy: "write.status.separate", request: func(r *http.Request) {
		r.URL.Path = strings.TrimSuffix(r.URL.Path, "/status")
	}},
	{name: "has no tables", caughtBy: "format.table format.metadata format.protobuf format.unknown format.yaml format.discovery", request: func(r *http.Request) { r.Header.Set("Accept", "application/json") }},
}

func dropped(name string) func(url.Values) { return func(v url.Values) { v.Del(name) } }

// onValidations returns a mutation that removes a field of policies' validations.
func onValidations(name string) func(*http.Request) {
	return onSpecs("validatingadmissionpolicies", func(s object) {
		validations, _ := s["validations"].([]any)
		for _, v := range validations {
			delete(v.(object), name)
		}
	})
}

// onServices returns a mutation that changes the service references of webhooks. It doesn't change references to the
// Service "way", by which the suite finds out whether the server can reach the suite's webhooks.
func onServices(change func(service object)) func(*http.Request) {
	return onWebhooks(func(w object) {
		if service, is := at(w, "clientConfig")["service"].(object); is && service["name"] != "way" {
			change(service)
		}
	})
}
