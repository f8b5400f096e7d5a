package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// things is the plural name of the custom resource that the cases of the matrix define.
const things = "things"

// cell is a case of the matrix while it runs. It has many methods, because the promises of the matrix consist of these
// steps.
type cell struct {
	*trial.T
	*operation
	// whole is the resource of the request. target is the subresource of the request, or else equals whole.
	whole, target trial.Resource
	// names are the names of the objects that the request concerns.
	names []string
	// old are the objects that the target has before the request.
	old []trial.Object
}

func newCell(t *trial.T, o *operation) *cell {
	t.Namespace() // the webhooks of the case don't review the creation of the namespace
	c := &cell{T: t, operation: o, whole: o.resource, names: []string{"thing"}}
	if o.resource.Version == "" {
		c.whole, _ = define(t, things, withoutSecond, withStatus)
	}
	if !c.whole.Namespaced {
		c.names[0] = t.Name("thing")
	}
	for i := 1; i < o.objects; i++ {
		c.names = append(c.names, fmt.Sprintf("thing%d", i))
	}
	c.target = c.whole.Sub(o.sub.Subresource)
	if o.sub.Kind != "" {
		c.target.Kind, c.target.KindGroup, c.target.KindVersion = o.sub.Kind, o.sub.KindGroup, o.sub.KindVersion
	}
	return c
}

// withStatus adds the subresource status to a definition.
func withStatus(definition trial.Object) trial.Object {
	versions := definition.Objects("spec.versions")
	for i, version := range versions {
		versions[i] = version.With("subresources", trial.Object{"status": trial.Object{}})
	}
	return definition.With("spec.versions", versions)
}

// alone limits a collection to one object. It is called before prepare.
func (c *cell) alone() *cell {
	c.names = c.names[:1]
	return c
}

// prepare creates the objects that must exist before the request, and returns the state.
func (c *cell) prepare(finalizers ...string) []any {
	if c.whole.Name == trial.Pods.Name {
		c.Create(trial.ServiceAccounts, c.Object(trial.ServiceAccounts, "conformance")).OK()
	}
	if !c.creates() {
		for _, name := range c.names {
			c.Create(c.whole, c.of(name, "old", "first").With("metadata.finalizers", finalizers)).OK()
		}
	}
	c.read()
	return c.state()
}

// read sets old, if the review has an existing object.
func (c *cell) read() {
	if !c.hasOld() {
		return
	}
	c.old = nil
	for _, name := range c.names {
		c.old = append(c.old, c.Get(c.target, name).OK())
	}
}

// state returns the stored objects of the resource, or nil in place of a missing object.
func (c *cell) state() []any {
	objects := make([]any, len(c.names))
	for i, name := range c.names {
		if a := c.Get(c.whole, name); a.Code != http.StatusNotFound {
			objects[i] = a.OK()
		}
	}
	return objects
}

// mutating returns a mutating webhook for the operation.
func (c *cell) mutating(short string, reply trial.Reply, changes ...trial.Change) *trial.Hook {
	return trial.Mutating(short, reply, append([]trial.Change{c.reviews}, changes...)...)
}

// validating returns a validating webhook for the operation.
func (c *cell) validating(short string, reply trial.Reply, changes ...trial.Change) *trial.Hook {
	return trial.Validating(short, reply, append([]trial.Change{c.reviews}, changes...)...)
}

// reviews is a trial.Change: the webhook reviews the operation. In the reviews of a resource without a namespace, a
// condition selects the object of the case.
func (c *cell) reviews(h *trial.Hook) {
	trial.On(c.admitted, c.target)(h)
	if !c.target.Namespaced {
		trial.When("own", "request.name == '"+c.names[0]+"'")(h)
	}
}

// send makes the request, with changes.
func (c *cell) send(changes ...func(*trial.Request)) *trial.Answer {
	name := c.names[0]
	if c.objects > 0 || c.verb == http.MethodPost && c.target.Subresource == "" {
		name = ""
	}
	r := trial.Request{Verb: c.verb, Path: c.Path(c.target, name), Type: c.contentType, Query: slices.Clone(c.query)}
	switch {
	case c.sends == nil || c.admitted == "CONNECT":
	case c.contentType == trial.JSONPatch:
		var ops []trial.Op
		for pointer, value := range leaves("", c.sends(c)) {
			ops = append(ops, trial.Add(pointer, value))
		}
		r.Body = ops
	default:
		r.Body = c.sends(c)
	}
	for _, change := range changes {
		change(&r)
	}
	return c.Do(r)
}

// leaves maps JSON pointers to the values of an object that aren't objects themselves.
func leaves(prefix string, o trial.Object) map[string]any {
	all := map[string]any{}
	for field, value := range o.Copy() {
		pointer := prefix + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(field)
		inner, is := value.(map[string]any)
		if !is {
			all[pointer] = value
			continue
		}
		for deeper, leaf := range leaves(pointer, inner) {
			all[deeper] = leaf
		}
	}
	return all
}

// has checks that an object has all fields that the request sends.
func (c *cell) has(what string, o trial.Object) {
	seen := leaves("", o)
	for pointer, value := range leaves("", c.sends(c)) {
		c.Equal(what+pointer, emptyZero(value), emptyZero(seen[pointer]))
	}
}

// passed checks that the answer isn't a refusal, and that the request had its effect. The pod of a connection doesn't
// exist, so the answer says that.
func (c *cell) passed(a *trial.Answer, before []any) {
	switch {
	case c.admitted == "CONNECT":
		a.Refused(http.StatusNotFound, `pods "thing" not found`)
		return
	case c.sub.Subresource == "token":
		c.True(a.OK().Text("status.token") != "", "a token", "none")
		return
	}
	a.OK()
	for i, after := range c.state() {
		c.True(!trial.Same(before[i], after), "another state of "+c.names[i], fmt.Sprint(after))
	}
}

// untouched checks that the request had no effect.
func (c *cell) untouched(before []any) { c.Equal("the objects", before, c.state()) }

// calledEach checks that the hooks were called in this order for each object, and that each review has a uid of its own.
// It returns the calls, and forgets them.
func (c *cell) calledEach(hooks ...string) []*trial.Call {
	calls := c.Calls()
	c.Called(slices.Repeat(hooks, len(c.names))...)
	uids := map[string]bool{}
	for _, call := range calls {
		uids[call.Request().Text("uid")] = true
	}
	c.Equal("number of uids", len(calls), len(uids))
	return calls
}

// calledInAnyOrder checks that the hooks were called, for one object.
func (c *cell) calledInAnyOrder(hooks ...string) {
	slices.Sort(hooks)
	c.Equal("the hooks that are called", hooks, inAnyOrder(c.T))
}

// adds returns a reply that appends a digit to the trail. It allows a request without an object.
func (c *cell) adds(digit string) trial.Reply {
	return trial.Answering(func(call *trial.Call) trial.Response { return c.added(call, digit) })
}

// added returns the response of the reply that adds returns.
func (c *cell) added(call *trial.Call, digit string) trial.Response {
	object := call.Request().Sub("object")
	if object == nil {
		return trial.Response{"allowed": true}
	}
	return trial.Patched(c.writes(c.trailOf(object) + digit))
}

// writes returns the operation of a JSON patch that sets the trail.
func (c *cell) writes(digits string) trial.Op {
	var value any = digits
	if c.numeric {
		value, _ = strconv.Atoi(digits) // they are digits
	}
	return trial.Add("/"+strings.ReplaceAll(c.trail, ".", "/"), value)
}

// trailOf returns the digits in an object, or "" without an object.
func (c *cell) trailOf(o trial.Object) string {
	value := emptyZero(o.At(c.trail))
	if c.trail == "" || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// trails checks the digits that each call has seen, after those of the request.
func (c *cell) trails(calls []*trial.Call, want ...string) {
	for i, call := range calls {
		if digits := want[i%len(want)]; c.trail != "" {
			c.Equal("the field "+c.trail+" that "+call.Hook+" sees", c.begin+digits, c.trailOf(call.Request().Sub("object")))
		}
	}
}

// stores checks the digits that are stored.
func (c *cell) stores(digits string) {
	if c.readBack {
		c.Equal("the field "+c.trail+" that is stored", c.begin+digits, c.trailOf(c.Get(c.target, c.names[0]).OK()))
	}
}
