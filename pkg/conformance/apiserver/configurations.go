package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// defaulted has optional fields of a webhook, of its rules and of its service reference, with their defaults in v1.
var defaulted = []struct {
	field, promise string
	want           any
}{
	{"failurePolicy", "Admission webhooks created using admissionregistration.k8s.io/v1 default failurePolicy to Fail.", "Fail"},
	{"matchPolicy", "Admission webhooks created using admissionregistration.k8s.io/v1 default to Equivalent.", "Equivalent"},
	{"timeoutSeconds", "Admission webhooks created using admissionregistration.k8s.io/v1 default timeouts to 10 seconds.", 10},
	{"reinvocationPolicy", "reinvocationPolicy defaults to Never.", "Never"},
	{"objectSelector", "objectSelector defaults to the empty selector, which matches everything.", trial.Object{}},
	{"namespaceSelector", "namespaceSelector defaults to the empty selector, which matches everything.", trial.Object{}},
	{"scope", "scope defaults to *.", "*"},
	{"servicePort", "The port of a service reference is optional and defaults to 443.", 443},
}

// defaults has the cases about missing fields of configurations.
var defaults = defaultTests()

func defaultTests() []trial.Test {
	var tests []trial.Test
	for _, d := range defaulted {
		tests = append(tests, trial.Test{
			ID: "configuration.default." + d.field, Promise: d.promise, Source: dynamic + "Webhook configuration",
			Run: func(t *trial.T) { defaultOf(t, "v1", d.field, d.want) },
		})
	}
	return tests
}

// defaultOf checks that the default of a field is want, in the configurations of each kind that has the field. The
// argument version is the API version of the configurations.
func defaultOf(t *trial.T, version, field string, want any) {
	for _, r := range []trial.Resource{trial.MutatingConfigurations, trial.ValidatingConfigurations} {
		if field == "reinvocationPolicy" && r.Name == trial.ValidatingConfigurations.Name {
			continue // only mutating webhooks have the field
		}
		_, o := plain(t)
		r.Version = version
		o["apiVersion"], o["kind"] = r.GroupVersion(), r.Kind
		webhook := o.Objects("webhooks")[0]
		if version != "v1" {
			webhook = webhook.Without("sideEffects").Without("admissionReviewVersions")
		}
		if field == "servicePort" {
			webhook = service(trial.Object{"namespace": "a", "name": "b"})(webhook)
		}
		webhook = t.Create(r, o.With("webhooks", []any{webhook}), dry).OK().Objects("webhooks")[0]
		seen := webhook[field]
		switch field {
		case "scope":
			seen = webhook.Objects("rules")[0]["scope"]
		case "servicePort":
			seen = webhook.At("clientConfig.service.port")
		}
		t.Equal(field+" of a "+r.Kind, want, seen)
	}
}

// merges has the cases about patches of the list of webhooks, whose items are merged by their names.
var merges = mergeTests()

func mergeTests() []trial.Test {
	var tests []trial.Test
	for _, m := range []struct {
		name, contentType string
		query             []string
	}{{"strategic", trial.StrategicPatch, nil}, {"apply", trial.ApplyPatch, forced}} {
		tests = append(tests, trial.Test{
			ID: "configuration.merged." + m.name, Source: applyPages + "Merge strategy",
			Promise: "Webhooks of a configuration are merged by their names: a patch of one webhook leaves the other webhooks, its other fields, and the order: " + m.contentType + ".",
			Run: func(t *trial.T) {
				for _, r := range []trial.Resource{trial.MutatingConfigurations, trial.ValidatingConfigurations} {
					_, o := plain(t)
					hook := o.Objects("webhooks")[0].With("namespaceSelector.matchLabels.none", t.Name("none")) // no namespace has the label
					o["apiVersion"], o["kind"] = r.GroupVersion(), r.Kind
					before := t.Create(r, o.With("webhooks", []any{hook.With("name", "a.example.com"), hook.With("name", "b.example.com")})).OK().Objects("webhooks")
					patch := t.Object(r, o.Name()).With("webhooks", []any{trial.Object{"name": "b.example.com", "timeoutSeconds": 7}})
					after := t.Patch(r, o.Name(), m.contentType, patch, m.query...).OK()
					t.Equal("webhooks of a "+r.Kind, []trial.Object{before[0], before[1].With("timeoutSeconds", 7)}, after.List("webhooks"))
				}
			},
		})
	}
	return tests
}

// plain returns a mutating configuration with one webhook. The webhook has only the required fields and a rule.
func plain(t *trial.T) (trial.Resource, trial.Object) {
	o := t.Object(trial.MutatingConfigurations, t.Name("plain"))
	o["webhooks"] = []any{trial.Object{
		"name": "hook.example.com", "clientConfig": trial.Object{"url": "https://example.com/path"}, "sideEffects": "None",
		"admissionReviewVersions": []string{"v1"},
		"rules":                   []any{trial.Object{"operations": []string{"CREATE"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"configmaps"}}},
	}}
	return trial.MutatingConfigurations, o.Copy()
}

// change returns a changed copy of a configuration's webhook.
type change func(webhook trial.Object) trial.Object

func set(path string, value any) change {
	return func(webhook trial.Object) trial.Object { return webhook.With(path, value) }
}

func unset(path string) change {
	return func(webhook trial.Object) trial.Object { return webhook.Without(path) }
}

// ruled returns a change that sets a field of the webhook's rule.
func ruled(field string, value any) change {
	return func(webhook trial.Object) trial.Object {
		return webhook.With("rules", []any{webhook.Objects("rules")[0].With(field, value)})
	}
}

// validated has changes of a plain configuration, and whether the server must accept the changed configuration.
var validated = []struct {
	name, section, promise string
	change                 change
	refused                bool
}{
	{"timeout.zero", "Timeouts", "The timeout value must be between 1 and 30 seconds: 0 is refused.", set("timeoutSeconds", 0), true},
	{"timeout.one", "Timeouts", "The timeout value must be between 1 and 30 seconds: 1 is accepted.", set("timeoutSeconds", 1), false},
	{"timeout.thirty", "Timeouts", "The timeout value must be between 1 and 30 seconds: 30 is accepted.",
		set("timeoutSeconds", 30), false},
	{"timeout.more", "Timeouts", "The timeout value must be between 1 and 30 seconds: 31 is refused.", set("timeoutSeconds", 31), true},
	{"sideEffects.missing", "Side effects", "In admissionregistration.k8s.io/v1, sideEffects must be set.", unset("sideEffects"), true},
	{"sideEffects.unknown", "Side effects",
		"In admissionregistration.k8s.io/v1, sideEffects must be None or NoneOnDryRun: Unknown is refused.",
		set("sideEffects", "Unknown"), true},
	{"sideEffects.some", "Side effects",
		"In admissionregistration.k8s.io/v1, sideEffects must be None or NoneOnDryRun: Some is refused.",
		set("sideEffects", "Some"), true},
	{"sideEffects.noneOnDryRun", "Side effects", "In admissionregistration.k8s.io/v1, sideEffects may be NoneOnDryRun.",
		set("sideEffects", "NoneOnDryRun"), false},
	{"url.http", "URL", "The scheme must be https.", set("clientConfig.url", "http://example.com/"), true},
	{"url.user", "URL", "Attempting to use a user or basic auth is not allowed.",
		set("clientConfig.url", "https://user:password@example.com/"), true},
	{"url.fragment", "URL", "Fragments are not allowed.", set("clientConfig.url", "https://example.com/#part"), true},
	{"url.query", "URL", "Query parameters are not allowed.", set("clientConfig.url", "https://example.com/?a=b"), true},
	{"url.noHost", "URL", "The url names a host.", set("clientConfig.url", "https:///path"), true},
	{"client.both", "Contacting the webhook", "Exactly one of url or service must be specified: both are refused.",
		set("clientConfig.service", trial.Object{"namespace": "a", "name": "b"}), true},
	{"client.neither", "Contacting the webhook", "Exactly one of url or service must be specified: none is refused.",
		unset("clientConfig.url"), true},
	{"service.port.zero", "Service reference", "A port is from 1 to 65535: 0 is refused.",
		service(trial.Object{"namespace": "a", "name": "b", "port": 0}), true},
	{"service.port.more", "Service reference", "A port is from 1 to 65535: 65536 is refused.",
		service(trial.Object{"namespace": "a", "name": "b", "port": 65536}), true},
	{"service.port.custom", "Service reference", "A port other than 443 may be given.",
		service(trial.Object{"namespace": "a", "name": "b", "port": 1234}), false},
	{"service.name", "Service reference", "The service namespace and name are required.", service(trial.Object{"namespace": "a"}), true},
	{"service.path", "Service reference", "A path must begin with a slash.",
		service(trial.Object{"namespace": "a", "name": "b", "path": "no-slash"}), true},
	{"scope", "Matching requests: rules", "Valid values of scope are Cluster, Namespaced and *.", ruled("scope", "Everywhere"), true},
	{"operations.unknown", "Matching requests: rules", "Operations are CREATE, UPDATE, DELETE, CONNECT and *.",
		ruled("operations", []string{"READ"}), true},
	{"operations.all", "V1 API", "If * is present among the operations, it must be alone.",
		ruled("operations", []string{"*", "CREATE"}), true},
	{"operations.none", "V1 API", "A rule has at least one operation.", ruled("operations", []string{}), true},
	{"groups.all", "V1 API", "If * is present among the groups, it must be alone.", ruled("apiGroups", []string{"*", "apps"}), true},
	{"versions.all", "V1 API", "If * is present among the versions, it must be alone.", ruled("apiVersions", []string{"*", "v1"}), true},
	{"resources.overlap", "V1 API", "If a wildcard is present, the resources may not overlap.",
		ruled("resources", []string{"*", "pods"}), true},
	{"resources.overlapSubresources", "V1 API", "If a wildcard is present, the subresources may not overlap.",
		ruled("resources", []string{"pods/*", "pods/status"}), true},
	{"matchPolicy", "Matching requests: matchPolicy", "Allowed values of matchPolicy are Exact and Equivalent.",
		set("matchPolicy", "Similar"), true},
	{"failurePolicy", "Failure policy", "Allowed values of failurePolicy are Ignore and Fail.", set("failurePolicy", "Retry"), true},
	{"reinvocationPolicy", "Reinvocation policy", "Allowed values of reinvocationPolicy are Never and IfNeeded.",
		set("reinvocationPolicy", "Always"), true},
	{"name.unqualified", "V1 API", "A name should be fully qualified.", set("name", "hook"), true},
	{"objectSelector", "Matching requests: objectSelector", "An object selector must be a valid label selector.",
		set("objectSelector", trial.Object{"matchExpressions": []any{trial.Object{"key": "a", "operator": "Like", "values": []string{"b"}}}}),
		true},
	{"namespaceSelector", "Matching requests: namespaceSelector",
		"A namespace selector must be a valid label selector.",
		set("namespaceSelector", trial.Object{"matchLabels": trial.Object{"a b": "c"}}), true},
	{"conditions.syntax", "Match conditions", "An expression that doesn't compile is refused.",
		set("matchConditions", []any{trial.Object{"name": "a", "expression": "request.("}}), true},
	{"conditions.type", "Match conditions", "An expression must evaluate to a bool.",
		set("matchConditions", []any{trial.Object{"name": "a", "expression": "'text'"}}), true},
	{"conditions.name", "Match conditions", "A match condition has a name.",
		set("matchConditions", []any{trial.Object{"name": "", "expression": "true"}}), true},
	{"conditions.duplicate", "Match conditions", "Names of match conditions are unique.",
		set("matchConditions", []any{trial.Object{"name": "a", "expression": "true"}, trial.Object{"name": "a", "expression": "true"}}),
		true},
	{"conditions.many", "Match conditions", "A webhook has at most 64 match conditions.",
		set("matchConditions", manyConditions(65)), true},
}

func manyConditions(n int) []any {
	var all []any
	for i := range n {
		all = append(all, trial.Object{"name": fmt.Sprintf("c%d", i), "expression": "true"})
	}
	return all
}

// service returns a change that replaces the URL of the webhook by a service.
func service(reference trial.Object) change {
	return func(webhook trial.Object) trial.Object {
		return webhook.With("clientConfig", trial.Object{"service": reference})
	}
}

// validations has the cases about configurations that the server must refuse or accept.
var validations = validationTests()

func validationTests() []trial.Test {
	var tests []trial.Test
	for _, v := range validated {
		source := dynamic + v.section
		if v.section == "V1 API" {
			source = kep492 + v.section
		}
		tests = append(tests, trial.Test{
			ID: "configuration.validation." + v.name, Promise: v.promise, Source: source,
			Needs: conditionNeeds(v.name),
			Run: func(t *trial.T) {
				r, o := plain(t)
				o["webhooks"] = []any{v.change(o.Objects("webhooks")[0])}
				a := t.Create(r, o.Copy(), "dryRun=All")
				if v.refused {
					a.Refused(http.StatusUnprocessableEntity, "webhooks[0]")
				} else {
					a.OK()
				}
			},
		})
	}
	return append(tests,
		trial.Test{
			ID: "configuration.validation.name.duplicate", Source: dynamic + "Webhook configuration",
			Promise: "If multiple webhooks are specified in a single configuration, each has a unique name; this is required in v1.",
			Run: func(t *trial.T) {
				r, o := plain(t)
				o["webhooks"] = append(o.List("webhooks"), o.List("webhooks")...)
				t.Create(r, o, "dryRun=All").Refused(http.StatusUnprocessableEntity, "webhooks[1].name")
			},
		},
		trial.Test{
			ID: "configuration.validation.metadata.name", Source: dynamic + "Webhook configuration",
			Promise: "The name of a configuration must be a valid DNS subdomain name.",
			Run: func(t *trial.T) {
				r, o := plain(t)
				t.Create(r, o.With("metadata.name", "Not_A_Name"), "dryRun=All").Refused(http.StatusUnprocessableEntity, "metadata.name")
			},
		})
}

func conditionNeeds(name string) []trial.Need {
	if strings.HasPrefix(name, "conditions.") {
		return []trial.Need{trial.Since(30)}
	}
	return nil
}

// legacyConfigurations is the resource of validating configurations in v1beta1, which newer servers don't serve.
var legacyConfigurations = trial.Resource{Group: "admissionregistration.k8s.io", Version: "v1beta1", Name: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"}

// legacy has the cases about configurations in v1beta1.
var legacy = append(legacyDefaults(), trial.Test{
	ID: "configuration.v1beta1.dryRun.some", Source: dynamic + "Side effects", Needs: []trial.Need{trial.Serves(legacyConfigurations)},
	Promise: "If a request with dryRun would trigger a call to a webhook with sideEffects Some, the request will instead fail, and the webhook will not be called.",
	Run:     legacySideEffects("Some"),
}, trial.Test{
	ID: "configuration.v1beta1.dryRun.unknown", Source: dynamic + "Side effects", Needs: []trial.Need{trial.Serves(legacyConfigurations)},
	Promise: "If a request with dryRun would trigger a call to a webhook with sideEffects Unknown, the request will instead fail, and the webhook will not be called.",
	Run:     legacySideEffects("Unknown"),
}, trial.Test{
	ID: "configuration.v1beta1.duplicateNames", Source: dynamic + "Webhook configuration",
	Needs:   []trial.Need{trial.Serves(legacyConfigurations)},
	Promise: "Unique names of the webhooks of a configuration are strongly recommended in v1beta1, but not required.",
	Run: func(t *trial.T) {
		o := t.Object(legacyConfigurations, t.Name("old"))
		webhook := trial.Object{"name": "hook.example.com", "clientConfig": trial.Object{"url": "https://example.com/"}}
		o["webhooks"] = []any{webhook, webhook}
		t.Create(legacyConfigurations, o.Copy(), "dryRun=All").OK()
	},
}, trial.Test{
	ID: "configuration.v1beta1.roundTrip", Source: kep492 + "V1beta1 changes", Needs: []trial.Need{trial.Serves(legacyConfigurations)},
	Promise: "A configuration has the same fields in v1beta1 and v1, in whichever version it was written.",
	Run: func(t *trial.T) {
		for i, hook := range pairOf(trial.Allow(), trial.Objects("opt", "in"), trial.Within(7), trial.Matches(exact), trial.When("always", "true")) {
			current, o := t.Configuration(hook.Short, hook)
			old := current
			old.Version = legacyConfigurations.Version
			for j, written := range []trial.Resource{current, old} {
				read := []trial.Resource{old, current}[j]
				first := t.Create(written, o.With("apiVersion", written.GroupVersion()).With("metadata.name", t.Name(fmt.Sprintf("written-%d-%d", i, j)))).OK()
				second := t.Get(read, first.Name()).OK()
				t.Equal("the version that is read", read.GroupVersion(), second["apiVersion"])
				for _, field := range []string{"webhooks", "metadata.uid", "metadata.resourceVersion"} {
					t.Equal(field+" in the other version", first.At(field), second.At(field))
				}
				second = t.Update(read, second.With("metadata.annotations.note", "changed")).OK()
				first = t.Get(written, first.Name()).OK()
				t.Equal("the annotation after an update in the other version", "changed", first.Annotation("note"))
				t.Equal("webhooks after an update in the other version", second["webhooks"], first["webhooks"])
				t.Delete(read, first.Name(), nil).OK()
				t.Get(written, first.Name()).Refused(http.StatusNotFound)
			}
		}
	},
})

func legacyDefaults() []trial.Test {
	var tests []trial.Test
	for _, d := range []struct {
		field, promise string
		want           any
	}{
		{"failurePolicy",
			"Admission webhooks created using admissionregistration.k8s.io/v1beta1 default failurePolicy to Ignore.",
			"Ignore"},
		{"matchPolicy", "Admission webhooks created using admissionregistration.k8s.io/v1beta1 default to Exact.", "Exact"},
		{"timeoutSeconds", "The default timeout is 30 seconds for webhooks created using admissionregistration.k8s.io/v1beta1.", 30},
		{"sideEffects", "In admissionregistration.k8s.io/v1beta1, sideEffects defaults to Unknown.", "Unknown"},
		{"admissionReviewVersions",
			"In admissionregistration.k8s.io/v1beta1, admissionReviewVersions defaults to v1beta1.",
			[]string{"v1beta1"}},
		{"reinvocationPolicy", "In admissionregistration.k8s.io/v1beta1, reinvocationPolicy defaults to Never.", "Never"},
		{"objectSelector", "In admissionregistration.k8s.io/v1beta1, objectSelector defaults to the empty selector.", trial.Object{}},
		{"namespaceSelector",
			"In admissionregistration.k8s.io/v1beta1, namespaceSelector defaults to the empty selector.",
			trial.Object{}},
		{"scope", "In admissionregistration.k8s.io/v1beta1, scope defaults to *.", "*"},
		{"servicePort", "In admissionregistration.k8s.io/v1beta1, the port of a service reference defaults to 443.", 443},
	} {
		tests = append(tests, trial.Test{
			ID: "configuration.v1beta1.default." + d.field, Promise: d.promise, Source: dynamic + "Webhook configuration",
			Needs: []trial.Need{trial.Serves(legacyConfigurations)},
			Run:   func(t *trial.T) { defaultOf(t, legacyConfigurations.Version, d.field, d.want) },
		})
	}
	return tests
}

// legacySideEffects returns a case with a class of side effects that only v1beta1 allows. A dry run must fail if the
// server would call a webhook with this class.
func legacySideEffects(class string) func(*trial.T) {
	return func(t *trial.T) {
		there := t.Create(trial.ConfigMaps, t.ConfigMap("there", "key", "value")).OK()
		for _, hook := range pairOf(trial.Allow(), trial.Fails(admissionregistrationv1.Ignore), t.Own) {
			r, o := t.Configuration(hook.Short, hook)
			r.Version = legacyConfigurations.Version
			webhooks := o.Objects("webhooks")
			webhooks[1]["sideEffects"] = class
			t.Create(r, o.With("apiVersion", r.GroupVersion()).With("webhooks", webhooks)).OK()
			t.Settle(o.Name())
			for _, d := range triedRuns {
				a := d.request(t, there)
				t.True(a.Code == http.StatusBadRequest, "a refusal of the "+d.verb+" with code 400", fmt.Sprint(a.Code))
				t.Contains("the message of the refusal of the "+d.verb, "does not support dry run", a.Object.Text("message"))
			}
			t.Equal("the object", there, t.Get(trial.ConfigMaps, "there").OK())
			t.Create(trial.Secrets, t.Object(trial.Secrets, "other"), dry).OK()
			t.Called()
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Equal("dryRun", false, t.One(hook.Short).At("dryRun"))
			t.Delete(r, o.Name(), nil).OK()
			t.Eventually("the configuration is no longer in effect", 20*time.Second, func() string {
				t.Forget()
				if a := t.Delete(trial.ConfigMaps, "a", nil, dry); !a.Succeeded() {
					return fmt.Sprint(a.Code)
				}
				return ""
			})
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			t.Forget()
		}
	}
}

// triedRuns has a dry run of each kind of request, for legacySideEffects. The dry runs need the ConfigMap "there".
var triedRuns = []struct {
	verb    string
	request func(t *trial.T, there trial.Object) *trial.Answer
}{
	{"create", func(t *trial.T, _ trial.Object) *trial.Answer {
		return t.Create(trial.ConfigMaps, t.ConfigMap("new"), "dryRun=All")
	}},
	{"update", func(t *trial.T, there trial.Object) *trial.Answer {
		return t.Update(trial.ConfigMaps, there.With("data.key", "new"), "dryRun=All")
	}},
	{"patch", func(t *trial.T, _ trial.Object) *trial.Answer {
		return t.Patch(trial.ConfigMaps, "there", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}, "dryRun=All")
	}},
	{"apply", func(t *trial.T, _ trial.Object) *trial.Answer {
		return t.Apply(trial.ConfigMaps, t.ConfigMap("new"), "tester", "dryRun=All")
	}},
	{"delete", func(t *trial.T, _ trial.Object) *trial.Answer {
		return t.Delete(trial.ConfigMaps, "there", nil, "dryRun=All")
	}},
	{"deletecollection", func(t *trial.T, _ trial.Object) *trial.Answer {
		return t.Delete(trial.ConfigMaps, "", nil, "dryRun=All")
	}},
	{"deleteOptions", func(t *trial.T, _ trial.Object) *trial.Answer {
		return t.Delete(trial.ConfigMaps, "there", trial.Object{"dryRun": []string{"All"}})
	}},
}
