package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// define creates a definition of a custom resource for the case, with the versions v1 and v2. Objects are stored in v1.
// The functions in changes may change the versions and the storage. When the server serves all versions of the
// definition, define returns the resource in v1 and v2.
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
	for _, version := range o.Objects("spec.versions") {
		served := r(version.Text("name"))
		t.Eventually(fmt.Sprintf("%s is served", served), 30*time.Second, func() string {
			if a := t.Do(trial.Request{Verb: "GET", Path: t.Path(served, "")}); !a.Succeeded() {
				return fmt.Sprint(a.Code)
			}
			return ""
		})
	}
	return r("v1"), r("v2")
}

// third adds the version v3 to a definition.
func third(definition trial.Object) trial.Object {
	versions := definition.Objects("spec.versions")
	return definition.With("spec.versions", append(versions, versions[1].With("name", "v3")))
}

// storedInSecond makes v2 the version in which the objects of a definition are stored.
func storedInSecond(definition trial.Object) trial.Object {
	versions := definition.Objects("spec.versions")
	return definition.With("spec.versions", []any{versions[0].With("storage", false), versions[1].With("storage", true)})
}

// withoutSecond removes v2 from a definition.
func withoutSecond(definition trial.Object) trial.Object {
	return definition.With("spec.versions", definition.List("spec.versions")[:1])
}

// sized gives each version of a definition a schema with required fields, and the subresources status and scale.
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

// customs has the cases about custom resources: a request for each verb, null in applies, and a definition that is
// created again.
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
	return append(append(tests, nulls()...), trial.Test{
		ID:     "custom.deletedWithDefinition",
		Source: "Extend the Kubernetes API with CustomResourceDefinitions, Delete a CustomResourceDefinition",
		Needs:  []trial.Need{trial.Serves(trial.Definitions)}, Cost: 3 * time.Second,
		Promise: "Custom resources that are deleted with their definition aren't reviewed.",
		Run: func(t *trial.T) {
			v1, _ := define(t, things, withoutSecond)
			t.Create(v1, t.Object(v1, "a")).OK()
			t.Install(pairOf(trial.Deny(http.StatusTeapot, "it stays"), trial.On("*", v1))...)
			t.Delete(trial.Definitions, v1.Name+"."+v1.Group, nil).OK()
			t.Eventually("the definition is deleted", 30*time.Second, func() string {
				if a := t.Get(trial.Definitions, v1.Name+"."+v1.Group); a.Code != http.StatusNotFound {
					return fmt.Sprint(a.Code)
				}
				return ""
			})
			t.Called()
		},
	}, trial.Test{
		ID:     "custom.redefined",
		Source: "Extend the Kubernetes API with CustomResourceDefinitions, Delete a CustomResourceDefinition",
		Needs:  []trial.Need{trial.Serves(trial.Definitions)}, Cost: 3 * time.Second,
		Promise: "The deletion of a definition deletes its custom resources: a new definition of the same kind, without the version that they were stored in, has none of them.",
		Run: func(t *trial.T) {
			v1, v2 := define(t, "things", storedInSecond)
			t.Create(v2, t.Object(v2, "old")).OK()
			t.Delete(trial.Definitions, v1.Name+"."+v1.Group, nil).OK()
			t.Eventually("the definition is deleted", 30*time.Second, func() string {
				if a := t.Get(trial.Definitions, v1.Name+"."+v1.Group); a.Code != http.StatusNotFound {
					return fmt.Sprint(a.Code)
				}
				return ""
			})
			define(t, "things", withoutSecond)
			w := t.Watch(v1)
			t.Create(v1, t.Object(v1, "new")).OK()
			t.Equal("the first event of a watch", "ADDED new", event(w.Next(eventTimeout)))
			for _, query := range []string{"limit=500", "resourceVersion=0"} {
				t.Equal("the names in a list with "+query, []string{"new"}, names(t.List(v1, query).OK()))
			}
		},
	})
}

// nullable changes the schemas of a definition: some fields may be null, and some have defaults.
func nullable(definition trial.Object) trial.Object {
	versions := definition.Objects("spec.versions")
	size := trial.Object{"size": trial.Object{"type": "string"}}
	for i, version := range versions {
		versions[i] = version.With("schema", trial.Object{"openAPIV3Schema": trial.Object{"type": "object", "properties": trial.Object{
			"spec": trial.Object{"type": "object", "properties": trial.Object{
				"color":    trial.Object{"type": "string", "nullable": true},
				"box":      trial.Object{"type": "object", "nullable": true, "properties": size},
				"lid":      trial.Object{"type": "object", "properties": size},
				"replicas": trial.Object{"type": "integer", "default": 1},
			}},
		}}})
	}
	return definition.With("spec.versions", versions)
}

// nulls has the cases about null in applies of custom resources.
func nulls() []trial.Test {
	var tests []trial.Test
	for _, n := range []struct {
		name, promise string
		field         string
		first         any
		then          trial.Object
		want          trial.Object // the stored spec
		refused       bool
		// since is the first minor version of Kubernetes with the behavior.
		since int
	}{
		{"value", "null is a value of a nullable field", "color", "red", trial.Object{"color": nil},
			trial.Object{"color": nil, "replicas": 1}, false, 0},
		{"object", "null replaces a nullable object", "box", trial.Object{"size": "big"}, trial.Object{"box": nil},
			trial.Object{"box": nil, "replicas": 1}, false, 37},
		{"refused", "null is refused in a field that isn't nullable", "lid", trial.Object{"size": "big"},
			trial.Object{"lid": nil}, trial.Object{"lid": trial.Object{"size": "big"}, "replicas": 1}, true, 37},
		{"leftOut", "a field that the only manager leaves out is removed", "lid", trial.Object{"size": "big"},
			trial.Object{}, trial.Object{"replicas": 1}, false, 0},
		{"default", "the default replaces null in a field that isn't nullable", "replicas", 3,
			trial.Object{"replicas": nil}, trial.Object{"replicas": 1}, false, 0},
	} {
		tests = append(tests, trial.Test{
			ID:      "apply.null." + n.name,
			Source:  "Extend the Kubernetes API with CustomResourceDefinitions, Defaulting and Nullable",
			Needs:   []trial.Need{trial.Serves(trial.Definitions), trial.Since(n.since)},
			Promise: "In an apply of a custom resource, " + n.promise + ".",
			Run: func(t *trial.T) {
				v1, _ := define(t, "things", nullable)
				t.Apply(v1, t.Object(v1, "a").With("spec", trial.Object{n.field: n.first}), "tester").OK()
				a := t.Apply(v1, t.Object(v1, "a").With("spec", n.then), "tester")
				if n.refused {
					a.Refused(http.StatusUnprocessableEntity, n.field)
				} else {
					a.OK()
				}
				t.Equal("spec", n.want, t.Get(v1, "a").OK()["spec"])
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
