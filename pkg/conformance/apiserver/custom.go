package apiserver

import (
	"fmt"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// define creates a definition of a custom resource of the case, with the versions v1, which is stored, and v2. It
// returns the resource in both when they are served.
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
