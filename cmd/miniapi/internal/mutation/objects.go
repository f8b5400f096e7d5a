package mutation

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Mutation is an installed object with one change.
type Mutation struct {
	// Object is KIND/NAME of the object, and Field the path of the changed field.
	Object string `json:"object"`
	Field  string `json:"field"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	// Before and After are what is changed, and what it is changed to.
	Before string `json:"before"`
	After  string `json:"after"`
	// Means says what it means if no case notices the change.
	Means string `json:"means"`
	// Noticed is the case that has noticed the change, or "".
	Noticed string `json:"noticed,omitempty"`

	mutant manifests.Object
	// expression is the path of the policy's expression that is changed, or "" for another change.
	expression string
	// alternatives returns the programs of the expression and of its change, or nil if their values can't be compared.
	alternatives func() *alternatives
	// anywhere is true if any case may notice the change, whatever its record says of the object.
	anywhere bool
	// converts is true if the object may match a request by another version after the change.
	converts bool
	// refused is true if the server doesn't accept the change, and reached if a case may notice it.
	refused, reached bool
}

// builder makes the mutations of an object.
type builder struct {
	manifests.Object
	place *source.Object
	// anywhere is that of the next mutations.
	anywhere bool
	all      []*Mutation
}

// kinds are the functions that make the mutations of a kind's objects.
var kinds = map[string]func(*builder){
	trace.ValidatingPolicy:             (*builder).policy,
	trace.MutatingPolicy:               (*builder).policy,
	trace.ValidatingPolicy + "Binding": (*builder).binding,
	trace.MutatingPolicy + "Binding":   (*builder).binding,
	trace.ValidatingConfiguration:      (*builder).webhooks,
	trace.MutatingConfiguration:        (*builder).webhooks,
	"CustomResourceDefinition":         (*builder).definition,
}

// Of returns the mutations of an object, in the order of its fields. It returns none for an object of another kind, and for
// one whose place isn't known.
func Of(files *source.Files, object manifests.Object) []*Mutation {
	build := kinds[object.GetKind()]
	if build == nil || object.File == "" {
		return nil
	}
	b := &builder{Object: object, place: files.Find(object.File, object.GetKind(), object.GetName())}
	if b.place == nil {
		return nil
	}
	build(b)
	return b.all
}

func (b *builder) value(path source.Path) any { return path.Of(b.Object.Object) }

func (b *builder) list(path source.Path) []any {
	list, _ := b.value(path).([]any)
	return list
}

// removed stands for the value of a field that is removed.
type removed struct{}

// set adds the mutation that sets the field at a path to a value.
func (b *builder) set(path source.Path, to any, before, after, means string) *Mutation {
	object := b.DeepCopy()
	parent, last := path[:len(path)-1].Of(object.Object), path[len(path)-1]
	switch parent := parent.(type) {
	case map[string]any:
		if _, remove := to.(removed); remove {
			delete(parent, last.(string))
		} else {
			parent[last.(string)] = runtime.DeepCopyJSONValue(to)
		}
	case []any:
		i := last.(int)
		if _, remove := to.(removed); remove {
			outer := path[:len(path)-2].Of(object.Object).(map[string]any)
			outer[path[len(path)-2].(string)] = slices.Delete(parent, i, i+1)
		} else {
			parent[i] = runtime.DeepCopyJSONValue(to)
		}
	}
	m := &Mutation{
		Object: b.GetKind() + "/" + b.GetName(), Field: path.String(), File: b.place.Path, Line: b.place.Line(path), Before: before, After: after, Means: means,
		mutant: manifests.Object{Unstructured: object, Source: b.Source, File: b.File}, anywhere: b.anywhere,
	}
	b.all = append(b.all, m)
	return m
}

// remove adds the mutation that removes the field at a path.
func (b *builder) remove(path source.Path, means string) {
	b.set(path, removed{}, name(path), "(removed)", means)
}

// name returns the last steps of a path, from the last name of a field on.
func name(path source.Path) string {
	for i := len(path) - 1; i >= 0; i-- {
		if _, isName := path[i].(string); isName {
			return path[i:].String()
		}
	}
	return path.String()
}

// expression adds the changes of an expression. The argument empty, unless it is "", takes the place of the whole.
func (b *builder) expression(path source.Path, empty string) {
	text, _ := b.value(path).(string)
	if text == "" {
		return
	}
	whole := path.String()
	if empty != "" && empty != text {
		b.evaluates(b.set(path, empty, name(path[:len(path)-1]), empty, "no case needs it"), whole)
	}
	changes, err := changesOf(text)
	if err != nil {
		return // the server says what is wrong with the expression
	}
	for _, c := range changes {
		if c.expression == empty {
			continue
		}
		m := b.set(path, c.expression, c.before, c.after, c.means)
		m.Line = b.place.LineOf(path, c.offset)
		b.evaluates(m, whole)
	}
}

// evaluates makes a mutation one of the expression at a path, if records have the values of the kind's expressions.
func (b *builder) evaluates(m *Mutation, expression string) {
	if b.GetKind() != trace.ValidatingPolicy && b.GetKind() != trace.MutatingPolicy {
		return
	}
	m.expression, m.alternatives = expression, sync.OnceValue(func() *alternatives { return m.compile(b.Object.Object) })
}

// elements adds mutations that remove an element of a list, or replace the only one.
func (b *builder) elements(path source.Path, instead func(any) any, means string) {
	list := b.list(path)
	for i, element := range list {
		before, text := fmt.Sprintf("%s: %v", name(path), element), fmt.Sprintf(means, element)
		if element == "" { // the core group
			before += `""`
		}
		if len(list) > 1 {
			b.set(path.With(i), removed{}, before, "(removed)", text)
		} else if other := instead(element); other != nil {
			b.set(path.With(i), other, before, fmt.Sprint(other), text)
		}
	}
}

// none leaves the only element of a list.
func none(any) any { return nil }

func (b *builder) policy() {
	b.constraints(source.Path{"spec", "matchConstraints"}, "resourceRules")
	b.conditions(source.Path{"spec"})
	b.swap(source.Path{"spec", "failurePolicy"}, "Fail", "Ignore", "no case has an expression that fails")
	for i := range b.list(source.Path{"spec", "variables"}) {
		b.expression(source.Path{"spec", "variables", i, "expression"}, "")
	}
	for i := range b.list(source.Path{"spec", "validations"}) {
		b.expression(source.Path{"spec", "validations", i, "expression"}, "true")
	}
	for i := range b.list(source.Path{"spec", "auditAnnotations"}) {
		b.expression(source.Path{"spec", "auditAnnotations", i, "valueExpression"}, "null")
	}
	for i := range b.list(source.Path{"spec", "mutations"}) {
		b.expression(source.Path{"spec", "mutations", i, "jsonPatch", "expression"}, "[]")
		b.expression(source.Path{"spec", "mutations", i, "applyConfiguration", "expression"}, "Object{}")
	}
}

func (b *builder) binding() {
	b.constraints(source.Path{"spec", "matchResources"}, "resourceRules")
	b.elements(source.Path{"spec", "validationActions"}, func(action any) any {
		if action == "Deny" {
			return "Audit"
		}
		return "Deny"
	}, "no case depends on the action %s")
	b.swap(source.Path{"spec", "paramRef", "parameterNotFoundAction"}, "Deny", "Allow", "no case lacks the parameters")
}

func (b *builder) webhooks() {
	for i := range b.list(source.Path{"webhooks"}) {
		path := source.Path{"webhooks", i}
		b.constraints(path, "rules")
		b.conditions(path)
		b.swap(path.With("failurePolicy"), "Fail", "Ignore", "no case has a call that fails")
		if len(b.list(source.Path{"webhooks"})) > 1 {
			b.remove(path, "no case needs the webhook")
		}
	}
}

// swap adds the mutation that sets a field to the other one of two values, if the field has one of them.
func (b *builder) swap(path source.Path, one, other, means string) {
	for from, to := range map[string]string{one: other, other: one} {
		if b.value(path) == from {
			b.set(path, to, name(path)+": "+from, to, means)
		}
	}
}

// conditions adds the mutations of match conditions.
func (b *builder) conditions(path source.Path) {
	for i := range b.list(path.With("matchConditions")) {
		b.expression(path.With("matchConditions", i, "expression"), "true")
	}
}

// constraints adds the mutations of rules and selectors. The argument rules is the name of the field with the rules.
func (b *builder) constraints(path source.Path, rules string) {
	// Of several rules, the record names the one that is nearest to the request.
	b.anywhere = len(b.list(path.With(rules))) > 1
	defer func() { b.anywhere = false }()
	for i := range b.list(path.With(rules)) {
		rule := path.With(rules, i)
		b.elements(rule.With("operations"), func(operation any) any {
			if operation == "CREATE" {
				return "UPDATE"
			}
			return "CREATE"
		}, "no case depends on the operation %s")
		b.elements(rule.With("resources"), func(resource any) any { return fmt.Sprint("other", resource) }, "no case depends on %s")
		same := len(b.all)
		b.elements(rule.With("apiGroups"), none, "no case depends on the group %q")
		b.elements(rule.With("apiVersions"), none, "no case depends on the version %s")
		if len(b.list(path.With(rules))) > 1 {
			b.remove(rule, "no case needs the rule")
		}
		for _, m := range b.all[same:] {
			m.converts = true
		}
	}
	for i := range b.list(path.With("excludeResourceRules")) {
		b.remove(path.With("excludeResourceRules", i), "no case is for what the rule excludes")
	}
	for _, field := range []string{"namespaceSelector", "objectSelector"} {
		selector := path.With(field)
		if fields, _ := b.value(selector).(map[string]any); len(fields) == 0 {
			continue
		}
		b.set(selector, map[string]any{}, name(selector), "{}", "no case depends on what the selector rules out")
		labels, _ := b.value(selector.With("matchLabels")).(map[string]any)
		for _, key := range sorted(labels) {
			b.set(selector.With("matchLabels", key), fmt.Sprint(labels[key], other), fmt.Sprintf("%s: %v", key, labels[key]), fmt.Sprint(labels[key], other), "no case depends on what the selector matches")
		}
		if expressions := b.list(selector.With("matchExpressions")); len(expressions)+len(labels) > 1 {
			for i := range expressions {
				b.remove(selector.With("matchExpressions", i), "no case depends on the requirement")
			}
		}
	}
}

func (b *builder) definition() {
	b.schema(source.Path{"spec", "versions"})
}

// schema adds the mutations of the rules below a part of a definition.
func (b *builder) schema(path source.Path) {
	switch value := b.value(path).(type) {
	case []any:
		for i := range value {
			b.schema(path.With(i))
		}
	case map[string]any:
		for _, key := range sorted(value) {
			if key != "x-kubernetes-validations" {
				b.schema(path.With(key))
				continue
			}
			for i := range b.list(path.With(key)) {
				b.expression(path.With(key, i, "rule"), "true")
			}
		}
	}
}

func sorted(fields map[string]any) []string {
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// String returns the mutation on one line, without its place and without most of what stays the same.
func (m *Mutation) String() string {
	before, after := []rune(oneLine(m.Before)), []rune(oneLine(m.After))
	most := min(len(before), len(after))
	if most <= longest {
		most = 0
	}
	start := 0
	for start < most && before[start] == after[start] {
		start++
	}
	end := 0
	for end < most-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	cut := func(text []rune) string { return elided(text, start-around, len(text)-end+around) }
	return cut(before) + "  ->  " + cut(after)
}

const (
	// longest is the length of texts that are shown whole, and around how much is shown on both sides of a change in a
	// longer text.
	longest = 60
	around  = 20
)

// elided returns the part of a text between two places, with marks for what is left out.
func elided(text []rune, from, to int) string {
	before, after := "…", "…"
	if from <= 0 {
		from, before = 0, ""
	}
	if to >= len(text) {
		to, after = len(text), ""
	}
	return before + string(text[from:to]) + after
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
