package recorder

import (
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	scale := &trace.Request{
		Resource: trace.Resource{Group: "apps", Resource: "deployments", Subresource: "scale"}, Namespace: "default", Name: "web",
		User: trace.User{Name: "alice"}, Admissions: []*trace.Admission{{Namespace: "default", Name: "other"}},
	}
	tests := []struct {
		name, reason string
		filter       Filter
		want         bool
	}{
		{"plural", "a group and a subresource may be left out", Filter{Resource: "deployments"}, true},
		{"group", "the subresource may be left out", Filter{Resource: "deployments.apps"}, true},
		{"all of the resource", "the request is for this resource", Filter{Resource: "deployments.apps/scale"}, true},
		{"another subresource", "a subresource that is named counts", Filter{Resource: "deployments/status"}, false},
		{"another group", "a group that is named counts", Filter{Resource: "deployments.extensions"}, false},
		{"object", "the request is for this object", Filter{Namespace: "default", Name: "web"}, true},
		{"one of the objects", "a request may have several objects", Filter{Name: "other"}, true},
		{"another namespace", "names are unique in a namespace alone", Filter{Namespace: "kube-system", Name: "web"}, false},
		{"another user", "a request has one user", Filter{User: "bob"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.filter.selects(scale); got != test.want {
				t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
			}
		})
	}
}

// For a question about one object, a deletecollection has only the passes for that object.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	passes := []*trace.Admission{{Namespace: "default", Name: "a"}, {Namespace: "default", Name: "b"}, {Namespace: "default", Name: "a"}}
	for _, test := range []struct {
		name, reason, verb string
		filter             Filter
		want               string
	}{
		{"collection", "the other passes are for other objects", "deletecollection", Filter{Namespace: "default", Name: "a"}, "a a"},
		{"whole collection", "the filter names no object", "deletecollection", Filter{Namespace: "default"}, "a b a"},
		{"other verb", "the passes of a request that is tried again are for one object", "update", Filter{Name: "a"}, "a b a"},
	} {
		request := &trace.Request{Verb: test.verb, Admissions: passes}
		var got []string
		for _, a := range test.filter.Narrowed(request).Admissions {
			got = append(got, a.Name)
		}
		if strings.Join(got, " ") != test.want || len(request.Admissions) != len(passes) {
			t.Errorf("%s: %s: want %s, got %s", test.name, test.reason, test.want, got)
		}
	}
}
