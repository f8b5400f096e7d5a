package faults

import (
	"hash/fnv"
	"slices"
	"sync/atomic"
)

// rule is a fault in force, with its fields in parsed form.
type rule struct {
	fault  Fault
	source source
	effect effect

	verbs                                []string
	resources                            resourcePatterns
	namespaces, names, users, userAgents patterns
	paths, webhooks                      patterns
	numbers                              spans
	share                                float64
	latency                              latency
	retryAfter                           int
	staleness                            staleness

	// seed is the seed of the rule's random numbers. It differs from rule to rule, because it depends on the fault's
	// name.
	seed uint64
	// matched is the number of requests that the rule has selected. injected is the number of requests that met the
	// fault.
	matched, injected atomic.Uint64
}

// newRule returns a rule for a valid fault.
func newRule(f Fault, from source, seed uint64) *rule {
	r := &rule{
		fault: f, source: from, effect: none, verbs: f.Verbs,
		namespaces: f.Namespaces, names: f.Names, users: f.Users, userAgents: f.UserAgents, paths: f.Paths, webhooks: f.Webhooks,
		share: float64(f.Share),
	}
	for _, t := range f.effects() {
		r.effect = t.effect
		if len(r.verbs) == 0 {
			r.verbs = t.verbs
		}
	}
	for _, text := range f.Resources {
		r.resources = append(r.resources, parseResource(text))
	}
	// The validation has already parsed these fields, so there is no error.
	r.numbers, _ = parseNumbers(f.Requests)
	r.latency, _ = parseLatency(f.Latency)
	r.retryAfter, _ = parseRetryAfter(f.RetryAfter)
	r.staleness, _ = parseStaleness(f.Stale)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(f.Name))
	r.seed = seed ^ hash.Sum64()
	return r
}

// selects tells whether the rule's fields select a request, or a call of a webhook.
func (r *rule) selects(s *subject) bool {
	switch {
	case (len(r.webhooks) > 0) != (s.webhook != ""):
		return false
	case s.webhook != "" && !r.webhooks.match(s.webhook) && !r.webhooks.match(s.configuration+"/"+s.webhook):
		return false
	case (len(r.paths) > 0) != (s.path != ""):
		return false
	case s.path != "" && !r.paths.match(s.path):
		return false
	}
	return (len(r.verbs) == 0 || slices.Contains(r.verbs, s.verb)) && r.resources.match(s) &&
		r.namespaces.match(s.namespace) && r.users.match(s.user) && r.userAgents.match(s.userAgent) &&
		(len(r.names) == 0 || r.names.match(s.objectName()))
}
