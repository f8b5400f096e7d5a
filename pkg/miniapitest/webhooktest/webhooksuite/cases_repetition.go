package webhooksuite

import (
	"context"
	"strings"
	"time"
)

// repetitionCases returns the cases that send requests again, or in another order.
func repetitionCases() []Case {
	return []Case{
		{
			ID: "idempotent.patch", Level: LevelError, Source: idempotenceSource,
			Promise: "The admission can be applied multiple times without changing the result beyond the initial application.",
			Advice:  "Look for what the webhook adds before it adds it: its own output as input changes nothing.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.again(ctx, func(in *Input, after map[string]any, second *answer) *Finding {
					if !second.allowed {
						return nil
					}
					twice, err := second.patched(after)
					if err != nil {
						return &Finding{Seen: "a patch that doesn't apply: " + err.Error()}
					}
					if d := differs("", meant(after), meant(twice)); d != "" {
						return &Finding{Seen: d}
					}
					return nil
				})
			},
		},
		{
			ID: "idempotent.accepted", Level: LevelError, Source: idempotenceSource,
			Promise: "An idempotent mutating admission webhook is able to successfully process an object it has already admitted and potentially modified.",
			Advice:  "Accept what the webhook itself sets: reinvocation, and users who apply what they have read, send it again.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.again(ctx, func(_ *Input, _ map[string]any, second *answer) *Finding {
					if second.allowed {
						return nil
					}
					_, message := second.status()
					return &Finding{Seen: strings.TrimSpace("a denial: " + message)}
				})
			},
		},
		{
			ID: "deterministic", Level: LevelWarning, Source: idempotenceSource, Cost: 2 * time.Second,
			Promise: "The same request again has the same outcome.",
			Advice:  "Derive what is added from the request alone: no clock, no random names, no order of a map.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				good := func(in *Input) bool { return s.good(ctx, in) }
				findings, err := s.each(good, func(in *Input) *Finding {
					for range 4 {
						if f := s.compared(ctx, in, in.review(), message{}, "again"); f != nil {
							return f
						}
					}
					return nil
				})
				if err != nil || len(findings) > 0 {
					return findings, err
				}
				// Wait for a second, because a webhook may add the present time to the object with a precision of
				// seconds.
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				return s.each(good, func(in *Input) *Finding { return s.compared(ctx, in, in.review(), message{}, "again, a second later") })
			},
		},
		{
			ID: "orderIndependent", Level: LevelWarning, Source: sideEffectsSource,
			Promise: "Webhooks operate only on the content of the AdmissionReview sent to them: other requests before it change no outcome.",
			Advice:  "Keep no state between requests: a call doesn't mean that its object is stored.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				for _, in := range s.Inputs {
					s.asked(ctx, in)
				}
				reversed := &Suite{Hooks: s.Hooks}
				defer reversed.Close()
				answers := map[*Input]*answer{}
				for i := len(s.Inputs) - 1; i >= 0; i-- {
					answers[s.Inputs[i]] = reversed.ask(ctx, s.Inputs[i], s.Inputs[i].review())
				}
				return s.each(func(in *Input) bool { return s.good(ctx, in) }, func(in *Input) *Finding {
					sent := s.describe(in) + ", after the other inputs in reverse order"
					if fault := answers[in].worse(s.asked(ctx, in)); fault != "" {
						return &Finding{Sent: sent, Seen: fault}
					}
					if d := outcomeOf(s.asked(ctx, in), in.object()).difference(outcomeOf(answers[in], in.object())); d != "" {
						return &Finding{Sent: sent, Seen: d}
					}
					return nil
				})
			},
		},
	}
}

// again repeats each request for which the webhook's answer has a patch. The second request has the patched object. The
// function try gets the patched object and the second answer, and checks the second answer.
func (s *Suite) again(ctx context.Context, try func(in *Input, after map[string]any, second *answer) *Finding) ([]Finding, error) {
	return s.patched(ctx, func(in *Input, after map[string]any, err error) *Finding {
		if err != nil {
			return nil
		}
		sent := s.describe(in) + ", with the object that its own patch has made"
		second := s.ask(ctx, in, in.with(setObject(after)))
		if fault := second.worse(s.asked(ctx, in)); fault != "" {
			return &Finding{Sent: sent, Seen: fault}
		}
		f := try(in, after, second)
		if f != nil {
			f.Sent = sent
		}
		return f
	})
}
