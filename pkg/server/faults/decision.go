package faults

import (
	"math/rand/v2"
	"time"
)

// injection is a fault that a rule injects into one request, or into one call of a webhook.
type injection struct {
	*rule
	subject *subject
	// number is the number of the request among the requests that the rule has selected.
	number uint64
	// delay is the latency for this request.
	delay time.Duration
}

// decide counts a request that the rule selects, and returns an injection if the request meets the fault. Otherwise it
// returns nil. The random numbers depend only on the rule's seed and the number of the request.
func (r *rule) decide(s *subject) *injection {
	number := r.matched.Add(1)
	if !r.numbers.has(number) {
		return nil
	}
	draws := rand.New(rand.NewPCG(r.seed, number))
	if draw := draws.Float64(); r.share > 0 && draw >= r.share {
		return nil
	}
	r.injected.Add(1)
	made := &injection{rule: r, subject: s, number: number}
	if r.latency != nil {
		made.delay = r.latency(draws)
	}
	return made
}

// rules are a list in which the first rule that injects its fault wins.
type rules []*rule

// inject returns the injection of the first rule that injects its fault, or nil.
func (all rules) inject(s *subject) *injection {
	for _, r := range all {
		if r.selects(s) {
			if made := r.decide(s); made != nil {
				return made
			}
		}
	}
	return nil
}
