package apiserver

import (
	"net/http"
	"sync/atomic"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// mutationPromises has the rows of the matrix about patches and reinvocation.
var mutationPromises = []crossPromise{
	{
		name:   "patch",
		says:   "A patch changes the object of the review; a patch of a deletion, which has no object, and one that doesn't apply refuse the request under any failure policy",
		source: dynamic + "Response",
		check: func(c *cell) {
			before := c.prepare()
			var broken atomic.Bool
			c.Install(c.mutating("mutating", trial.Answering(func(call *trial.Call) trial.Response {
				if broken.Load() || c.sends == nil {
					return trial.Patched(trial.Op{Op: "remove", Path: "/none"})
				}
				return c.added(call, "1")
			}), trial.Fails(ignore)), c.validating("validating", trial.Allow()))
			broken.Store(true)
			c.send().Refused(http.StatusInternalServerError)
			c.Called("mutating")
			c.untouched(before)
			if c.sends == nil {
				return
			}
			broken.Store(false)
			a := c.send()
			c.passed(a, before)
			c.trails(c.calledEach("mutating", "validating"), "", "1")
			c.stores("1")
			if c.readBack {
				c.Equal("the field "+c.trail+" in the answer", c.begin+"1", c.trailOf(a.Object))
			}
		},
	},
	{
		name:   "reinvocation",
		says:   "A webhook with reinvocationPolicy IfNeeded is called again if a later one changes the object, and sees the change; a deletion has no object that could change",
		source: dynamic + "Reinvocation policy",
		check: func(c *cell) {
			before := c.prepare()
			c.Install(c.mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), c.mutating("b", c.adds("1")), c.validating("c", trial.Allow()))
			c.passed(c.send(), before)
			if c.sends == nil {
				c.calledEach("a", "b", "c")
				return
			}
			c.trails(c.calledEach("a", "b", "a", "c"), "", "", "1", "1")
			c.stores("1")
		},
	},
	{
		name:   "reinvocationFails",
		says:   "The failure policy decides about a second call that fails, as about the first",
		source: dynamic + "Reinvocation policy",
		except: func(o *operation) string {
			if o.sends == nil {
				return "no webhook is called again"
			}
			return ""
		},
		check: func(c *cell) {
			again := func(reply trial.Reply) trial.Reply {
				return func(w http.ResponseWriter, r *http.Request, call *trial.Call) {
					if c.trailOf(call.Request().Sub("object")) != c.begin {
						reply(w, r, call)
						return
					}
					trial.Allow()(w, r, call)
				}
			}
			fails := again(trial.Raw(http.StatusInternalServerError, []byte{}))
			before := c.prepare()
			c.Install(c.mutating("a", fails, trial.Reinvoked(ifNeeded), trial.Fails(ignore)), c.mutating("b", fails, trial.Reinvoked(ifNeeded)), c.mutating("c", c.adds("1")), c.validating("d", trial.Allow()))
			refusedByFailure(c.T, c.send())
			c.Called("a", "b", "c", "a", "b")
			c.untouched(before)
			c.Delete(trial.MutatingConfigurations, c.Name("b"), nil).OK()
			c.Install(c.mutating("e", trial.Allow()))
			c.passed(c.send(), before)
			c.trails(c.calledEach("a", "c", "e", "a", "d"), "", "", "1", "1", "1")
			c.stores("1")
		},
	},
	{
		name:   "identity",
		says:   "A patch of the name, namespace, kind, apiVersion or uid is refused where these are fixed, never changes what the server decides, and fields that the kind lacks have no effect",
		source: dynamic + "Response",
		except: func(o *operation) string {
			if o.sends == nil {
				return "the review has no object"
			}
			return ""
		},
		check: func(c *cell) {
			c.prepare()
			var patch atomic.Value
			c.Install(c.mutating("mutating", trial.Answering(func(*trial.Call) trial.Response { return patch.Load().(trial.Response) })))
			for i, path := range identityPaths {
				patch.Store(trial.Patched(trial.Add(path, "other")))
				a := c.send(func(r *trial.Request) {
					if c.admitted != "CONNECT" {
						r.Query = append(r.Query, dry)
					}
				})
				c.Equal("the code after a patch of "+path, c.identity[i], a.Code)
				c.True(a.Object.Text("metadata.uid") != "other", "the uid isn't that of the patch", "it is")
			}
		},
	},
}

// identityPaths are the fields whose patches operation.identity is about.
var identityPaths = []string{"/metadata/name", "/metadata/namespace", "/kind", "/apiVersion", "/metadata/uid", "/unknown", "/metadata/unknown"}
