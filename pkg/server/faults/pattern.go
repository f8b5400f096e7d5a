package faults

import "strings"

// patterns are texts in which * stands for any text. An empty list matches every text.
type patterns []string

func (p patterns) match(text string) bool {
	for _, pattern := range p {
		if glob(pattern, text) {
			return true
		}
	}
	return len(p) == 0
}

// glob tells whether a text matches a pattern. In the pattern, each * stands for any text.
func glob(pattern, text string) bool {
	begin, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, begin)
	if !ok {
		return false
	}
	for {
		middle, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, middle)
		}
		_, found, ok := strings.Cut(text, middle)
		if !ok {
			return false
		}
		text, rest = found, after
	}
}

// resourcePattern matches resources by their names, groups and subresources.
type resourcePattern struct {
	group, resource, subresource string
	anyGroup                     bool
}

func parseResource(text string) resourcePattern {
	text, subresource, _ := strings.Cut(text, "/")
	resource, group, named := strings.Cut(text, ".")
	return resourcePattern{group: group, resource: resource, subresource: subresource, anyGroup: !named}
}

func (p resourcePattern) match(s *subject) bool {
	return (p.anyGroup || glob(p.group, s.group)) && glob(p.resource, s.resource) && glob(p.subresource, s.subresource)
}

// resourcePatterns match a resource if one of them does. An empty list matches every resource and subresource.
type resourcePatterns []resourcePattern

func (p resourcePatterns) match(s *subject) bool {
	for _, pattern := range p {
		if pattern.match(s) {
			return true
		}
	}
	return len(p) == 0
}
