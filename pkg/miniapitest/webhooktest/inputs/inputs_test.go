package inputs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sort"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	value := map[string]any{}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// served returns a resource that is in its preferred version.
func served(group, version, name, kind string, namespaced bool) *resource {
	return &resource{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: name},
		kind:                 kind, namespaced: namespaced, preferred: true,
	}
}

// A random value follows its schema with every seed.
func TestGenerated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason, schema string
		holds                func(any) bool
	}{
		{"enumeration", "other values are invalid", `{"type":"string","enum":["a","b"]}`,
			func(v any) bool { return v == "a" || v == "b" }},
		{"default", "a default is always valid", `{"type":"string","default":"plain"}`, func(v any) bool { return v == "plain" }},
		{"limits of numbers", "both limits are inclusive", `{"type":"integer","minimum":3,"maximum":4}`,
			func(v any) bool { return v == int64(3) || v == int64(4) }},
		{"high minimum", "the minimum may be above the numbers that are usually generated",
			`{"type":"integer","minimum":1000}`, func(v any) bool { return v.(int64) >= 1000 }},
		{"lengths", "both limits count", `{"type":"string","minLength":7,"maxLength":8}`,
			func(v any) bool { n := len(v.(string)); return n == 7 || n == 8 }},
		{"format", "a text of letters is no time", `{"type":"string","format":"date-time"}`,
			func(v any) bool { return v == "2026-01-01T00:00:00Z" }},
		{"items", "the least number of items is made", `{"type":"array","minItems":2,"items":{"type":"boolean"}}`, func(v any) bool {
			items := v.([]any)
			_, is := items[0].(bool)
			return len(items) >= 2 && is
		}},
		{"required", "an object without a required field is invalid", `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, func(v any) bool {
			return v.(map[string]any)["a"] != nil
		}},
		{"number or text", "a number is valid", `{"x-kubernetes-int-or-string":true}`, func(v any) bool { return v == int64(1) }},
		{"reference", "the schema stands elsewhere", `{"allOf":[{"$ref":"#/components/schemas/com.example.Color"}]}`,
			func(v any) bool { return v == "blue" }},
		{"recursive", "a schema that refers to itself has an end", `{"$ref":"#/components/schemas/com.example.Node"}`,
			func(v any) bool { return v != nil }},
		{"required list of itself", "an empty list is an end", `{"$ref":"#/components/schemas/com.example.Tree"}`, func(v any) bool {
			_, is := v.(map[string]any)["children"].([]any)
			return is
		}},
		{"optional without an end", "an object without the field is valid", `{"type":"object","properties":{"chain":{"$ref":"#/components/schemas/com.example.Chain"},"name":{"type":"string"}}}`, func(v any) bool {
			_, has := v.(map[string]any)["chain"]
			return !has
		}},
		{"items without an end", "the empty list is valid",
			`{"type":"array","items":{"$ref":"#/components/schemas/com.example.Chain"}}`,
			func(v any) bool { return len(v.([]any)) == 0 }},
		{"fractional limits", "3 is less than the minimum, and 6 is greater than the maximum",
			`{"type":"integer","minimum":3.5,"maximum":5.5}`,
			func(v any) bool { return v == int64(4) || v == int64(5) }},
		{"fractional minimum alone", "no number that is usually generated is within the limits",
			`{"type":"number","minimum":100.5}`, func(v any) bool { return v.(float64) >= 100.5 }},
		{"negative fractions", "the fraction of a negative number is above its whole part",
			`{"type":"number","minimum":-1.5,"maximum":-0.5}`, func(v any) bool { return v == -1.0 }},
		{"negative maximum alone", "the usual minimum is above the maximum", `{"type":"integer","maximum":-0.5}`,
			func(v any) bool { return v.(int64) <= -1 }},
		{"exclusive limits", "in OpenAPI 3.0, the value true excludes the limit itself",
			`{"type":"integer","minimum":3,"maximum":5,"exclusiveMinimum":true,"exclusiveMaximum":true}`,
			func(v any) bool { return v == int64(4) }},
		{"no whole number", "a fraction is the only valid number", `{"type":"number","minimum":0.2,"maximum":0.8}`,
			func(v any) bool { f := v.(float64); return f >= 0.2 && f <= 0.8 }},
		{"minimum above maximum", "a schema without a valid value must not end the run",
			`{"type":"integer","minimum":5,"maximum":3}`, func(v any) bool { _, is := v.(int64); return is }},
		{"limits of 64 bits", "their distance is no int64",
			`{"type":"integer","minimum":0,"maximum":9223372036854775807}`, func(v any) bool { return v.(int64) >= 0 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				g := &generator{random: rand.New(rand.NewPCG(seed, 1)), odds: 1, schemas: decoded(t, `{
					"com.example.Color": {"type":"string","enum":["blue"]},
					"com.example.Node": {"type":"object","properties":{"next":{"$ref":"#/components/schemas/com.example.Node"}}},
					"com.example.Tree": {"type":"object","required":["children"],"properties":{"children":{"type":"array","items":{"$ref":"#/components/schemas/com.example.Tree"}}}},
					"com.example.Chain": {"type":"object","required":["next"],"properties":{"next":{"$ref":"#/components/schemas/com.example.Chain"}}}}`)}
				if value, ends := g.value(decoded(t, tc.schema), 1); !ends || !tc.holds(value) {
					t.Fatalf("seed %d: %v: %s", seed, value, tc.reason)
				}
			}
		})
	}
}

// A schema has no finite value if a required field refers to the schema, directly or through other schemas. The suite
// then has no object of the resource, and reports the reason.
func TestEndless(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, reason, schemas string }{
		{"itself", "each object contains another object",
			`{"Root": {"type":"object","required":["next"],"properties":{"next":{"$ref":"#/components/schemas/Root"}}}}`},
		{"two branches", "the number of objects doubles at each level", `{"Root": {"type":"object","required":["left","right"],
			"properties":{"left":{"$ref":"#/components/schemas/Root"},"right":{"allOf":[{"$ref":"#/components/schemas/Root"}]}}}}`},
		{"by another schema", "the cycle has two schemas", `{"Root": {"type":"object","required":["other"],"properties":{"other":{"$ref":"#/components/schemas/Other"}}},
			"Other": {"type":"object","required":["root"],"properties":{"root":{"$ref":"#/components/schemas/Root"}}}}`},
		{"least number of items", "the list can't be empty", `{"Root": {"type":"object","required":["children"],
			"properties":{"children":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Root"}}}}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := served("example.com", "v1", "roots", "Root", true)
			schemas := decoded(t, tc.schemas)
			root, _ := schemas["Root"].(map[string]any)
			root["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": "example.com", "version": "v1", "kind": "Root"}}
			q := &requests{Source: &Source{schemas: map[string]map[string]any{"example.com/v1": schemas}}}
			bases, err := q.bases(r)
			if err != nil || len(bases) > 0 || len(q.refused) != 1 || !strings.Contains(q.refused[0], "a required field refers to the schema that it is in") {
				t.Errorf("%s: want no object and the reason, got %v, %q and error %v", tc.reason, bases, q.refused, err)
			}
		})
	}
}

// The same seed gives the same random objects. Another resource, or the next object of a resource, gets other values.
func TestSeed(t *testing.T) {
	t.Parallel()
	text := func(seed uint64, name string, n int) string {
		q := &requests{Source: &Source{options: Options{Seed: seed}}}
		value, _ := q.generator(served("example.com", "v1", name, "Thing", true), n).value(map[string]any{"type": "string"}, 1)
		return fmt.Sprint(value)
	}
	first := text(1, "things", 0)
	if again := text(1, "things", 0); again != first {
		t.Errorf("want the same text for one seed, got %s and %s", first, again)
	}
	for name, other := range map[string]string{"seed": text(2, "things", 0), "resource": text(1, "others", 0), "number": text(1, "things", 1)} {
		if other == first {
			t.Errorf("want another text for another %s, got %s twice", name, first)
		}
	}
}

// vary adds random fields to an object. The object's metadata, kind, status and existing values stay.
func TestVaried(t *testing.T) {
	t.Parallel()
	object := decoded(t, `{"kind":"Thing","metadata":{"name":"a"},"spec":{"color":"red","parts":[{"name":"one"}]}}`)
	g := &generator{random: rand.New(rand.NewPCG(1, 1)), odds: 1}
	g.vary(object, decoded(t, `{"type":"object","properties":{
		"kind":{"type":"string"},"metadata":{"type":"object","properties":{"labels":{"type":"string"}}},"status":{"type":"string"},
		"spec":{"type":"object","properties":{"color":{"type":"string"},"size":{"type":"integer","minimum":2,"maximum":2},
			"parts":{"type":"array","items":{"type":"object","properties":{"size":{"type":"integer","minimum":3,"maximum":3}}}}}}}}`))
	want := decoded(t, `{"kind":"Thing","metadata":{"name":"a"},"spec":{"color":"red","size":2,"parts":[{"name":"one","size":3}]}}`)
	if got := decoded(t, string(must(t, object))); !reflect.DeepEqual(want, got) {
		t.Errorf("want %v, got %v", want, got)
	}
}

func must(t *testing.T, value any) []byte {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// A caller can change a sample. The next caller gets the original sample.
func TestSamples(t *testing.T) {
	t.Parallel()
	all, err := readSamples()
	if err != nil {
		t.Fatal(err)
	}
	configMaps := served("", "v1", "configmaps", "ConfigMap", true)
	if err := unstructured.SetNestedField(all.of(configMaps).Object, "changed", "data", "key"); err != nil {
		t.Fatal(err)
	}
	if value, _, _ := unstructured.NestedString(all.of(configMaps).Object, "data", "key"); value != "value" {
		t.Errorf("want the sample as it was, got %q", value)
	}
	if sample := all.of(served("example.com", "v1", "configmaps", "ConfigMap", true)); sample != nil {
		t.Errorf("want no sample of another group, got %v", sample)
	}
}

// rule returns a rule for all operations.
func rule(group, version string, resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources},
	}
}

func hookOf(kind webhooksuite.Kind, rules ...admissionregistrationv1.RuleWithOperations) webhooksuite.Hook {
	h := webhooksuite.Hook{Name: "hook", Kind: kind}
	h.Entry.Rules = rules
	return h
}

// The suite makes requests for the resources that a rule names. For an asterisk in a rule, it makes requests for some
// common resources, which stand for all resources.
func TestWanted(t *testing.T) {
	t.Parallel()
	clusterScope := rule("", "v1", "configmaps")
	scope := admissionregistrationv1.ClusterScope
	clusterScope.Scope = &scope
	configMaps, limitRanges := served("", "v1", "configmaps", "ConfigMap", true), served("", "v1", "limitranges", "LimitRange", true)
	things := served("example.com", "v1", "things", "Thing", true)
	older := served("example.com", "v1beta1", "things", "Thing", true)
	older.preferred = false
	given := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "LimitRange"}}
	for _, tc := range []struct {
		name, reason string
		rule         admissionregistrationv1.RuleWithOperations
		of           *resource
		objects      []*unstructured.Unstructured
		want         bool
	}{
		{"named", "the rule names the resource", rule("", "v1", "limitranges"), limitRanges, nil, true},
		{"other group", "the rule names another group", rule("apps", "v1", "configmaps"), configMaps, nil, false},
		{"other version", "the rule names another version", rule("", "v2", "configmaps"), configMaps, nil, false},
		{"other resource", "the rule names another resource", rule("", "v1", "secrets"), configMaps, nil, false},
		{"subresource", "requests for a subresource need the resource", rule("", "v1", "limitranges/status"), limitRanges, nil, true},
		{"scope", "the rule is about resources without a namespace", clusterScope, configMaps, nil, false},
		{"common", "a common resource stands for all resources", rule("*", "*", "*"), configMaps, nil, true},
		{"rare", "common resources stand for the resource", rule("*", "*", "*"), limitRanges, nil, false},
		{"given", "the user has given an object of the resource", rule("*", "*", "*"), limitRanges,
			[]*unstructured.Unstructured{given}, true},
		{"any version", "one version is enough", rule("example.com", "*", "things"), things, nil, true},
		{"older version", "the preferred version stands for the other versions", rule("example.com", "*", "things"), older, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			q := &requests{Source: &Source{options: Options{Objects: tc.objects}}, hooks: []webhooksuite.Hook{hookOf(webhooksuite.Mutating, tc.rule)}}
			if got := q.wanted(tc.of); got != tc.want {
				t.Errorf("want %v, got %v: %s", tc.want, got, tc.reason)
			}
		})
	}
}

// decorate gives an object a name, a namespace and the matchLabels of the webhooks' object selectors. It removes the
// fields that only a server sets.
func TestDecorated(t *testing.T) {
	t.Parallel()
	h := hookOf(webhooksuite.Validating, rule("", "v1", "configmaps"))
	h.Entry.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}
	q := &requests{Source: &Source{namespace: "conformance"}, hooks: []webhooksuite.Hook{h}}
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "7", "uid": "u"}}}
	q.decorate(u, served("", "v1", "configmaps", "ConfigMap", true), "one")
	want := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "one", "namespace": "conformance", "labels": map[string]any{"team": "blue"},
	}}
	if !reflect.DeepEqual(want, u.Object) {
		t.Errorf("want %v, got %v", want, u.Object)
	}
}

// review returns the AdmissionReview for the creation of a ConfigMap, in JSON.
func review(name string) []byte {
	return []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","name":"` + name + `",
		"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},"object":{}}}`)
}

// The recorder drops the reviews of refused requests, because their objects may be invalid. It keeps at most perShape
// reviews with the same operation, resource and subresource.
func TestKept(t *testing.T) {
	t.Parallel()
	r := &recorder{counts: map[string]int{}}
	record := func(good bool, from string) {
		r.latest = append(r.latest, recorded{hook: 0, review: review(from)})
		r.keep(good, origin{text: from, random: true})
	}
	record(false, "refused")
	for n := range perShape + 2 {
		record(true, fmt.Sprintf("taken-%d", n))
	}
	inputs, err := r.inputs()
	if err != nil {
		t.Fatal(err)
	}
	if len(inputs) != perShape {
		t.Fatalf("want %d inputs, got %d", perShape, len(inputs))
	}
	for _, in := range inputs {
		if !in.Random || !strings.Contains(in.String(), "taken-") {
			t.Errorf("want an input of a taken random object, got %s", in)
		}
	}
}

// The webhooks of the recorder have the rules of the suite's webhooks. Their failurePolicy is Ignore, so a failure of
// the recorder doesn't fail a request.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	r := &recorder{base: "https://127.0.0.1:1", hooks: []webhooksuite.Hook{
		hookOf(webhooksuite.Validating, rule("", "v1", "pods")),
		hookOf(webhooksuite.Unknown, rule("", "v1", "secrets")), hookOf(webhooksuite.Mutating),
	}}
	mutating, validating := r.configurations()
	var seen []string
	for _, w := range mutating.Webhooks {
		seen = append(seen, "mutating "+*w.ClientConfig.URL+" "+w.Rules[0].Resources[0])
		if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.SideEffects != admissionregistrationv1.SideEffectClassNone {
			t.Errorf("%s: want failures to be ignored and no side effects, got %s and %s", w.Name, *w.FailurePolicy, *w.SideEffects)
		}
	}
	for _, w := range validating.Webhooks {
		seen = append(seen, "validating "+*w.ClientConfig.URL+" "+w.Rules[0].Resources[0])
	}
	sort.Strings(seen)
	want := []string{
		"mutating https://127.0.0.1:1/1 secrets", "mutating https://127.0.0.1:1/mutating configmaps",
		"validating https://127.0.0.1:1/0 pods", "validating https://127.0.0.1:1/validating configmaps",
	}
	if !reflect.DeepEqual(want, seen) {
		t.Errorf("want the webhooks %q, got %q", want, seen)
	}
}

// The result of uncovered has each resource of a rule that no input covers, and the server's reasons for its refusals.
func TestUncovered(t *testing.T) {
	t.Parallel()
	in, err := webhooksuite.NewInput(0, "a sample", review("a"))
	if err != nil {
		t.Fatal(err)
	}
	q := &requests{Source: &Source{}, refused: []string{"secrets is forbidden"}, hooks: []webhooksuite.Hook{
		hookOf(webhooksuite.Mutating, rule("", "v1", "configmaps", "secrets"), rule("*", "*", "*")),
		hookOf(webhooksuite.Mutating, rule("*", "*", "*")),
	}}
	got := strings.Join(q.uncovered([]*webhooksuite.Input{in}), "\n")
	want := "hook: rule 1: no input for secrets\nhook: rule 1: no input for *\nsecrets is forbidden"
	if got != want {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}
