package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// collections has the cases about deleting many objects by one request.
var collections = []trial.Test{
	{
		ID: "deletecollection.each", Source: kep492 + "Plumbing existing objects to delete admission",
		Promise: "When deleting a collection, each matching object is sent as the oldObject to webhooks in an individual request.",
		Run: func(t *trial.T) {
			three(t)
			existing := map[string]trial.Object{}
			for _, name := range []string{"a", "b", "c"} {
				existing[name] = t.Get(trial.ConfigMaps, name).OK()
			}
			t.Install(pairOf(trial.Allow(), t.Own)...)
			t.Delete(trial.ConfigMaps, "", nil, "labelSelector="+trial.LabelCase).OK()
			uids := map[string]bool{}
			for _, hook := range []string{"mutating", "validating"} {
				names := []string{}
				for _, call := range t.Calls(hook) {
					r := call.Request()
					uids[r.Text("uid")] = true
					t.Equal("operation", "DELETE", r.At("operation"))
					t.Equal("object", nil, r.At("object"))
					t.Equal("namespace", t.Namespace(), r.At("namespace"))
					t.Equal("name", "", r.Text("name"))
					name := r.Text("oldObject.metadata.name")
					t.Equal("oldObject", existing[name], r.At("oldObject"))
					names = append(names, name)
				}
				slices.Sort(names)
				t.Equal("the names of the objects that "+hook+" is sent", []string{"a", "b", "c"}, names)
			}
			t.Equal("number of uids", 6, len(uids))
		},
	},
	{
		ID: "deletecollection.dryRun", Source: concepts + "Dry-run",
		Promise: "In a dry run, each object of a collection is reviewed, and stays.",
		Run: func(t *trial.T) {
			three(t)
			t.Install(trial.Validating("hook", trial.Allow(), t.Own))
			t.Delete(trial.ConfigMaps, "", nil, "labelSelector="+trial.LabelCase, dry).OK()
			for _, call := range t.Calls() {
				t.Equal("dryRun", true, call.Request().At("dryRun"))
			}
			t.Called("hook", "hook", "hook")
			t.Equal("the names", []string{"a", "b", "c"}, names(t.List(trial.ConfigMaps, own).OK()))
		},
	},
	{
		ID: "deletecollection.selected", Source: concepts + "Collections",
		Promise: "Only the objects that the selector of the request matches are reviewed and deleted.",
		Run: func(t *trial.T) {
			three(t)
			t.Create(trial.ConfigMaps, labelled(t, "d")).OK()
			t.Install(trial.Validating("hook", trial.Allow(), t.Own))
			t.Delete(trial.ConfigMaps, "", nil, "labelSelector=opt=in").OK()
			t.Equal("oldObject.metadata.name", "d", t.One("hook").At("oldObject.metadata.name"))
			t.Get(trial.ConfigMaps, "d").Refused(http.StatusNotFound)
			t.Get(trial.ConfigMaps, "a").OK()
		},
	},
	{
		ID: "deletecollection.options", Source: kep492 + "Passing {Operation}Option to Webhook",
		Promise: "Each review of a collection has the DeleteOptions of the request.",
		Run: func(t *trial.T) {
			three(t)
			t.Install(trial.Validating("hook", trial.Allow(), t.Own))
			t.Delete(trial.ConfigMaps, "", trial.Object{"gracePeriodSeconds": 7}, "labelSelector="+trial.LabelCase).OK()
			calls := t.Calls()
			t.True(len(calls) == 3, "three reviews", fmt.Sprint(len(calls)))
			for _, call := range calls {
				t.Equal("options.kind", "DeleteOptions", call.Request().At("options.kind"))
				t.Equal("options.gracePeriodSeconds", 7, call.Request().At("options.gracePeriodSeconds"))
			}
		},
	},
	{
		ID: "deletecollection.denied", Source: kep492 + "Plumbing existing objects to delete admission",
		Promise: "An object whose deletion a webhook refuses stays, and the answer is the refusal.",
		Run: func(t *trial.T) {
			three(t)
			t.Install(trial.Validating("hook", trial.Answering(func(c *trial.Call) trial.Response {
				if c.Request().Text("oldObject.metadata.name") == "b" {
					return trial.Response{"allowed": false, "status": trial.Object{"code": http.StatusTeapot, "message": "b stays"}}
				}
				return trial.Response{"allowed": true}
			}), t.Own))
			t.Delete(trial.ConfigMaps, "", nil, "labelSelector="+trial.LabelCase).Refused(http.StatusTeapot, "b stays")
			t.Get(trial.ConfigMaps, "b").OK()
		},
	},
	{
		ID: "deletecollection.objectSelector", Source: kep492 + "Object selector",
		Promise: "The object selector is applied to each object of a collection.",
		Run: func(t *trial.T) {
			three(t)
			t.Create(trial.ConfigMaps, labelled(t, "d")).OK()
			t.Install(trial.Validating("hook", trial.Allow(), trial.Objects("opt", "in")))
			t.Delete(trial.ConfigMaps, "", nil, "labelSelector="+trial.LabelCase).OK()
			t.Equal("oldObject.metadata.name", "d", t.One("hook").At("oldObject.metadata.name"))
		},
	},
	{
		ID: "deletecollection.clusterScope", Source: kep492 + "Plumbing existing objects to delete admission",
		// If the server ignores the label selector, the request deletes the ClusterRoles of all users.
		Needs:   []trial.Need{trial.Disposable},
		Promise: "Collections without a namespace are reviewed object by object too.",
		Run: func(t *trial.T) {
			for _, name := range []string{"one", "two"} {
				t.Create(trial.ClusterRoles, t.Object(trial.ClusterRoles, t.Name(name))).OK()
			}
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.ClusterRoles), t.Own))
			t.Delete(trial.ClusterRoles, "", nil, "labelSelector="+trial.LabelCase+"="+t.Namespace()).OK()
			t.Called("hook", "hook")
		},
	},
}

// three creates the ConfigMaps a, b and c in the namespace of the case.
func three(t *trial.T) {
	for _, name := range []string{"a", "b", "c"} {
		t.Create(trial.ConfigMaps, t.ConfigMap(name, "key", name)).OK()
	}
}
