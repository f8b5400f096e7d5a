package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Permission is a rule of a role, with its purpose and the cases that need it.
type Permission struct {
	// For says what the permission is for.
	For string
	// Cases are globs of the cases that need the permission. By default, all cases need it.
	Cases []string
	// Groups, Resources, Names and Verbs are the fields of a PolicyRule of RBAC. A resource may have a subresource, as
	// in pods/exec.
	Groups, Resources, Names, Verbs []string
	// URLs are the NonResourceURLs of a PolicyRule, such as /metrics.
	URLs []string
}

// sampleGroup is the API group for checks of the permissions for custom resources. Each case defines a group of its
// own, so the rules for these resources have the group *.
const sampleGroup = Prefix + "sample.conformance.miniapi.dev"

// askers is the number of SelfSubjectAccessReviews that the suite creates in parallel.
const askers = 8

// access is a kind of request, such as "get pods". The suite checks whether the client may make such requests.
type access struct {
	verb, group, resource, name, url string
}

func (a access) String() string {
	switch {
	case a.url != "":
		return a.verb + " " + a.url
	case a.name != "":
		return fmt.Sprintf("%s %s %q", a.verb, qualified(a.group, a.resource), a.name)
	}
	return a.verb + " " + qualified(a.group, a.resource)
}

func qualified(group, resource string) string {
	name, sub, is := strings.Cut(resource, "/")
	if group != "" {
		name += "." + group
	}
	if is {
		name += "/" + sub
	}
	return name
}

// Permitted returns an error that lists the permissions that the client lacks. If the server doesn't serve
// SelfSubjectAccessReviews, Permitted returns nil.
func (s *Server) Permitted(ctx context.Context, permissions []Permission) error {
	if _, tells := s.Find(AccessReviews); !tells {
		return nil
	}
	if no, err := s.refuses(ctx, access{verb: "*", group: "*", resource: "*"}); err != nil || !no {
		return err // an administrator has all
	}
	var questions []access
	for i := range permissions {
		questions = append(questions, permissions[i].questions()...)
	}
	refused := make([]bool, len(questions))
	failed := make([]error, askers)
	var workers sync.WaitGroup
	for worker := range askers {
		workers.Go(func() {
			for i := worker; i < len(questions) && failed[worker] == nil; i += askers {
				refused[i], failed[worker] = s.refuses(ctx, questions[i])
			}
		})
	}
	workers.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	var missing []string
	for i, question := range questions {
		if refused[i] {
			missing = append(missing, question.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("the user %q lacks %d of the %d permissions that the cases need: %s", s.user, len(missing), len(questions), strings.Join(missing, ", "))
}

// questions returns an access for each combination of a verb, a group, a resource and a name of the permission, and for
// each combination of a verb and a URL.
func (p *Permission) questions() []access {
	var all []access
	for _, verb := range p.Verbs {
		for _, url := range p.URLs {
			all = append(all, access{verb: verb, url: url})
		}
		for _, group := range p.Groups {
			for _, resource := range p.Resources {
				asked := access{verb: verb, group: group, resource: resource}
				if group == "*" && resource != "*" {
					asked.group = sampleGroup
				}
				if len(p.Names) == 0 {
					all = append(all, asked)
				}
				for _, asked.name = range p.Names {
					all = append(all, asked)
				}
			}
		}
	}
	return all
}

// refuses tells whether the server would refuse an access. It requests a SelfSubjectAccessReview.
func (s *Server) refuses(ctx context.Context, a access) (bool, error) {
	spec := Object{"nonResourceAttributes": Object{"verb": a.verb, "path": a.url}}
	if a.url == "" {
		name, sub, _ := strings.Cut(a.resource, "/")
		spec = Object{"resourceAttributes": Object{"verb": a.verb, "group": a.group, "resource": name, "subresource": sub, "name": a.name}}
	}
	answer, err := s.do(ctx, Request{Verb: http.MethodPost, Path: AccessReviews.path("", ""),
		Body: Object{"apiVersion": AccessReviews.GroupVersion(), "kind": AccessReviews.Kind, "spec": spec}})
	if err != nil {
		return false, fmt.Errorf("SelfSubjectAccessReview of the permission %s: %w", a, err)
	}
	if !answer.Succeeded() {
		return false, fmt.Errorf("SelfSubjectAccessReview of the permission %s: the status of the answer must be 2xx, got %s", a, answer.says())
	}
	allowed, _ := answer.Object.At("status.allowed").(bool)
	return !allowed, nil
}
