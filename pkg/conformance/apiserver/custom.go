package apiserver

import (
	"fmt"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// define creates a definition of a custom resource for the case, with the versions v1 and v2. Objects are stored in v1.
// define returns the resource in both versions, when the server serves both.
func define(t *trial.T, plural string, changes ...func(trial.Object) trial.Object) (v1, v2 trial.Resource) {
	group := t.Namespace() + ".conformance.miniapi.dev"
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	version := func(name string, stored bool) trial.Object {
		return trial.Object{"name": name, "served": true, "storage": stored, "schema": trial.Object{
			"openAPIV3Schema": trial.Object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	}
	o := t.Object(trial.Definitions, plural+"."+group)
	o["spec"] = trial.Object{
		"group": group, "scope": "Namespaced", "names": trial.Object{"plural": plural, "kind": kind},
		"versions": []any{version("v1", true), version("v2", false)},
	}
	o = o.Copy()
	for _, change := range changes {
		o = change(o)
	}
	t.Create(trial.Definitions, o).OK()
	r := func(version string) trial.Resource {
		return trial.Resource{Group: group, Version: version, Name: plural, Kind: kind, Namespaced: true}
	}
	for _, version := range []string{"v1", "v2"} {
		t.Eventually(fmt.Sprintf("%s is served", r(version)), 30*time.Second, func() string {
			if a := t.Do(trial.Request{Verb: "GET", Path: t.Path(r(version), "")}); !a.Succeeded() {
				return fmt.Sprint(a.Code)
			}
			return ""
		})
	}
	return r("v1"), r("v2")
}

// sized changes the schemas of a definition: objects have required fields, a status and a scale.
func sized(definition trial.Object) trial.Object {
	versions := definition.Objects("spec.versions")
	for i, version := range versions {
		version["schema"] = trial.Object{"openAPIV3Schema": trial.Object{"type": "object", "required": []string{"spec"}, "properties": trial.Object{
			"spec": trial.Object{"type": "object", "required": []string{"size", "color", "names", "since", "replicas"}, "properties": trial.Object{
				"size":     trial.Object{"type": "integer", "minimum": 1},
				"color":    trial.Object{"type": "string", "enum": []string{"blue", "green"}},
				"names":    trial.Object{"type": "array", "minItems": 2, "items": trial.Object{"type": "string", "minLength": 3}},
				"since":    trial.Object{"type": "string", "format": "date-time"},
				"replicas": trial.Object{"type": "integer"},
			}},
			"status": trial.Object{"type": "object", "properties": trial.Object{"replicas": trial.Object{"type": "integer"}}},
		}}}
		version["subresources"] = trial.Object{"status": trial.Object{}, "scale": trial.Object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}
		versions[i] = version
	}
	return definition.With("spec.versions", versions)
}

// customs has the cases that make a request for each verb of a custom resource, with objects that follow its schema.
var customs = customTests()

func customTests() []trial.Test {
	var tests []trial.Test
	for _, sub := range []string{"", "status", "scale"} {
		id := "custom.every"
		if sub != "" {
			id += "." + sub
		}
		tests = append(tests, trial.Test{
			ID: id, Source: dynamic + "Request", Needs: []trial.Need{trial.Serves(trial.Definitions)},
			Promise: everyPromise + ": a custom resource, whose objects follow its schema" + map[bool]string{true: ", " + sub}[sub != ""] + ".",
			Run: func(t *trial.T) {
				whole, _ := define(t, "things", sized)
				whole.Verbs = []string{"create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"}
				r := whole.Sub(sub)
				if sub != "" {
					r.Verbs = []string{"get", "update", "patch"}
				}
				if sub == "scale" {
					r.Kind, r.KindGroup, r.KindVersion = "Scale", "autoscaling", "v1"
				}
				w := &walk{T: t, resource: r, whole: whole, content: published(t, whole)}
				w.install()
				if sub == "" {
					w.object()
				} else {
					w.subresource()
				}
			},
		})
	}
	return tests
}

// published waits until the server publishes the schema of a resource, and returns the smallest object of this schema.
func published(t *trial.T, r trial.Resource) trial.Object {
	var object trial.Object
	t.Eventually("the schema of "+r.String()+" is published", 30*time.Second, func() string {
		derived, found := smallest(t, r)
		if !found {
			return "the server publishes no schema"
		}
		object = derived
		return ""
	})
	return object
}
