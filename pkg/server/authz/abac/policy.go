package abac

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	groupVersion = "abac.authorization.kubernetes.io/v1beta1"
	kind         = "Policy"
	all          = "*"
)

// policy is one line of the file: the spec of a Policy of abac.authorization.kubernetes.io/v1beta1. A line without an
// apiVersion is in the older format v0, and fromV0 converts it.
type policy struct {
	// User and Group are the user and the group that the policy applies to; if both are given, both must match.
	User  string `json:"user"`
	Group string `json:"group"`
	// Readonly limits the policy to the verbs get, list and watch.
	Readonly bool `json:"readonly"`
	// APIGroup, Resource and Namespace name the resources that the policy allows; "*" means all.
	APIGroup  string `json:"apiGroup"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	// NonResourcePath is the URL path that the policy allows. It applies only to paths that aren't resources. "*" at
	// the end matches any rest.
	NonResourcePath string `json:"nonResourcePath"`
}

// loadError names the line of a policy file that can't be read, and the reason.
type loadError struct {
	path string
	line int
	data []byte
	err  error
}

// Error names the file and the line.
func (e *loadError) Error() string {
	return fmt.Sprintf("error reading policy file %s, line %d: %s: %v", e.path, e.line, e.data, e.err)
}

// Unwrap returns the reason.
func (e *loadError) Unwrap() error { return e.err }

// load reads a file. It skips lines that are empty or begin with #.
func load(path string) ([]policy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("error reading policy file: %w", err)
	}
	var policies []policy
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := bytes.TrimSpace(line)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		parsed, err := parse(text)
		if err != nil {
			return nil, &loadError{path: path, line: number, data: text, err: err}
		}
		policies = append(policies, parsed)
	}
	return policies, nil
}

func parse(line []byte) (policy, error) {
	var header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       policy `json:"spec"`
	}
	if err := json.Unmarshal(line, &header); err != nil {
		return policy{}, err
	}
	switch {
	case header.APIVersion == "" && header.Kind == "":
		var v0 policy
		if err := json.Unmarshal(line, &v0); err != nil {
			return policy{}, err
		}
		return v0.fromV0(), nil
	case header.APIVersion != groupVersion || header.Kind != kind:
		return policy{}, fmt.Errorf("the line has kind %q and apiVersion %q, and must have kind %q and apiVersion "+
			"%q", header.Kind, header.APIVersion, kind, groupVersion)
	}
	return header.Spec.forEveryone(), nil
}

// forEveryone replaces "*" by the group of all authenticated users.
func (p policy) forEveryone() policy {
	if p.User == all || p.Group == all {
		p.User, p.Group = "", user.AllAuthenticated
	}
	return p
}

// fromV0 converts a line in the format v0 (a line without an apiVersion). In that format, an empty field doesn't
// restrict the policy.
func (p policy) fromV0() policy {
	if p.User == "" && p.Group == "" {
		p.Group = user.AllAuthenticated
	}
	if p.Namespace == "" && p.Resource == "" {
		p.NonResourcePath = all
	}
	if p.Namespace == "" {
		p.Namespace = all
	}
	if p.Resource == "" {
		p.Resource = all
	}
	p.APIGroup = all
	return p.forEveryone()
}
