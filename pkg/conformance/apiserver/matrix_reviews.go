package apiserver

import (
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// reviewPromises has the rows of the matrix about the content of reviews.
var reviewPromises = []crossPromise{
	{
		name:   "review",
		says:   "The review has the operation, kind, resource, names and options of the request, the new object and the existing one",
		source: dynamic + "Request",
		check: func(c *cell) {
			before := c.prepare()
			c.Install(c.mutating("mutating", trial.Allow()), c.validating("validating", trial.Allow()))
			c.passed(c.send(), before)
			for i, call := range c.calledEach("mutating", "validating") {
				c.reviewed(call, i/2)
			}
		},
	},
	{
		name: "options", says: "The options in the review are all options of the request",
		source: kep492 + "Passing {Operation}Option to Webhook",
		check: func(c *cell) {
			c.alone().prepare()
			c.Install(c.mutating("mutating", trial.Allow()), c.validating("validating", trial.Allow()))
			var want any
			switch c.options() {
			case "DeleteOptions":
				sent := trial.Object{"gracePeriodSeconds": 7, "propagationPolicy": "Background",
					"preconditions": trial.Object{"uid": c.old[0].At("metadata.uid"), "resourceVersion": c.old[0].Version()}}
				c.send(func(r *trial.Request) { r.Body = sent }).OK()
				want = sent.With("kind", c.options()).With("apiVersion", "meta.k8s.io/v1")
			case "":
				c.send()
			default:
				c.send(func(r *trial.Request) { r.Query = append(r.Query, "fieldManager=tester", "fieldValidation=Strict") }).OK()
				want = trial.Object{"kind": c.options(), "apiVersion": "meta.k8s.io/v1", "fieldManager": "tester", "fieldValidation": "Strict"}
			}
			for _, call := range c.calledEach("mutating", "validating") {
				c.Equal("options in the review by "+call.Hook, want, call.Request()["options"])
			}
		},
	},
	{
		name:   "dryRun",
		says:   "A dry run is reviewed with dryRun true, and has no effect; a connection has no dry run, and is refused without a review",
		source: concepts + "Dry-run",
		check: func(c *cell) {
			before := c.prepare()
			c.Install(c.mutating("mutating", c.adds("1")), c.validating("validating", trial.Allow()))
			a := c.send(func(r *trial.Request) { r.Query = append(r.Query, dry) })
			if c.admitted == "CONNECT" {
				a.Refused(http.StatusBadRequest, "dryRun")
				c.Called()
				return
			}
			a.OK()
			calls := c.calledEach("mutating", "validating")
			c.trails(calls, "", "1")
			for _, call := range calls {
				c.Equal("dryRun in the review by "+call.Hook, true, call.Request()["dryRun"])
				c.Equal("options.dryRun in the review by "+call.Hook, []string{"All"}, call.Request().At("options.dryRun"))
			}
			c.untouched(before)
			if c.readBack {
				c.Equal("the field "+c.trail+" in the answer", c.begin+"1", c.trailOf(a.Object))
			}
		},
	},
	{
		name:   "userInfo",
		says:   "The user in the review has the name, uid, groups and extra fields of the authenticated user",
		source: dynamic + "Request", needs: []trial.Need{trial.Serves(trial.SelfReviews)},
		check: func(c *cell) {
			c.prepare()
			headers, user := c.Identified()
			c.Install(c.mutating("mutating", trial.Allow()), c.validating("validating", trial.Allow()))
			c.send(func(r *trial.Request) { r.Header = headers })
			for _, call := range c.calledEach("mutating", "validating") {
				c.Equal("userInfo in the review by "+call.Hook, user, call.Request()["userInfo"])
			}
		},
	},
	{
		name:   "deleting",
		says:   "In the review of a request for an object that is already being deleted, the existing object has its deletionTimestamp",
		source: kep492 + "Plumbing existing objects to delete admission",
		except: func(o *operation) string {
			switch {
			case !o.hasOld():
				return "the review has no existing object"
			case o.sub.Kind == "Scale":
				return "a Scale has no deletionTimestamp"
			}
			return ""
		},
		check: func(c *cell) {
			c.prepare(hold)
			for _, name := range c.names {
				c.Delete(c.whole, name, nil).OK()
			}
			c.read()
			c.Install(c.mutating("mutating", trial.Allow()), c.validating("validating", trial.Allow()))
			c.send(func(r *trial.Request) {
				if o, is := r.Body.(trial.Object); is && c.verb == http.MethodPut {
					r.Body = o.With("metadata.finalizers", []string{hold})
				}
			}).OK()
			for i, call := range c.calledEach("mutating", "validating") {
				c.sees(call, i/2)
			}
		},
	},
}

// reviewed checks the review of an object in a call.
func (c *cell) reviewed(call *trial.Call, index int) {
	group, version := c.target.Group, c.target.Version
	resource := trial.Object{"group": group, "version": version, "resource": c.target.Name}
	if c.target.KindVersion != "" {
		group, version = c.target.KindGroup, c.target.KindVersion
	}
	kind := trial.Object{"group": group, "version": version, "kind": c.target.Kind}
	want := trial.Object{"operation": c.admitted, "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource, "dryRun": false}
	if c.target.Subresource != "" {
		want["subResource"], want["requestSubResource"] = c.target.Subresource, c.target.Subresource
	}
	if c.target.Namespaced {
		want["namespace"] = c.Namespace()
	}
	if c.objects == 0 {
		want["name"] = c.names[0]
	}
	want["options"] = nil
	if c.options() != "" {
		options := trial.Object{"kind": c.options(), "apiVersion": "meta.k8s.io/v1"}
		if c.contentType == trial.ApplyPatch {
			options["fieldManager"] = "tester"
		}
		want["options"] = options
	}
	r := call.Request()
	object := r.Sub("object")
	c.True(r.Has("object") && r.Has("oldObject"), "the fields object and oldObject in the review by "+call.Hook, "fields are missing")
	c.Equal("the review by "+call.Hook, want, r.Without("uid").Without("userInfo").Without("object").Without("oldObject"))
	c.sees(call, index)
	if c.sends == nil {
		c.True(object == nil, "no object in the review by "+call.Hook, "there is one")
		return
	}
	c.Equal("object.kind in the review by "+call.Hook, c.target.Kind, object["kind"])
	c.Equal("object.apiVersion in the review by "+call.Hook, c.target.KindGroupVersion(), object["apiVersion"])
	c.has("object in the review by "+call.Hook+": ", object)
	if call.Hook == "validating" && c.readBack {
		stored := c.Get(c.target, c.names[0]).OK()
		c.Equal("the object that the validating webhook sees", stored.Without("metadata.resourceVersion"), object.Without("metadata.resourceVersion"))
	}
}

// sees checks oldObject in the review of an object: it is the existing object, or null. The managed fields of an object
// of another kind than the stored object aren't compared, because a client can't read them.
func (c *cell) sees(call *trial.Call, index int) {
	old := call.Request().Sub("oldObject")
	switch {
	case !c.hasOld():
		c.True(old == nil, "no oldObject in the review by "+call.Hook, "there is one")
	case c.sub.Kind != "":
		c.Equal("oldObject in the review by "+call.Hook, c.old[index], old.Without("metadata.managedFields"))
	default:
		c.Equal("oldObject in the review by "+call.Hook, c.old[index], old)
	}
}
