package apiserver

import (
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// collections has the cases about deleting many objects by one request.
var collections = []trial.Test{
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
