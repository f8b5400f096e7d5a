package apiserver

import (
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// patches has the cases about the reviews of patch requests.
var patches = []trial.Test{
	{
		ID: "patch.test", Source: chain + "Patch",
		Promise: "A JSON patch whose test fails isn't reviewed, and changes nothing.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(pairOf(trial.Allow())...)
			patch := []any{trial.Object{"op": "test", "path": "/data/key", "value": "other"}, trial.Object{"op": "remove", "path": "/data/key"}}
			t.Patch(trial.ConfigMaps, "a", trial.JSONPatch, patch).Refused(http.StatusUnprocessableEntity)
			t.Called()
		},
	},
	{
		ID: "patch.missing", Source: chain + "Patch",
		Promise: "A patch of an object that doesn't exist isn't reviewed, unless it is an apply.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow())...)
			t.Patch(trial.ConfigMaps, "missing", trial.MergePatch, trial.Object{"data": trial.Object{"a": "b"}}).Refused(http.StatusNotFound)
			t.Called()
		},
	},
}
