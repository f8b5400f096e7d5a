package webhooksuite

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Kind is the kind of a webhook: mutating or validating.
type Kind string

// The kinds of webhooks. The kind is unknown if a webhook has no configuration; such a webhook may behave like either
// kind.
const (
	Unknown    Kind = ""
	Mutating   Kind = "mutating"
	Validating Kind = "validating"
)

// Hook is a webhook that the suite checks.
type Hook struct {
	// Name names the webhook in findings and errors.
	Name string
	Kind Kind
	// Configuration is the configuration of the webhook, or nil if only the URL is known.
	Configuration *Configuration
	// Entry is the webhook in its configuration. A validating webhook has no reinvocationPolicy.
	Entry    admissionregistrationv1.MutatingWebhook
	Endpoint Endpoint
}

// Endpoint is the address of a webhook.
type Endpoint struct {
	// URL is the URL of the calls.
	URL string
	// TLS has the authorities and the name by which the certificate is verified. Nil stands for the system's
	// authorities and the host of the URL.
	TLS *tls.Config
	// Transport, if set, makes the calls. The suite then skips the cases about connections and certificates.
	Transport http.RoundTripper
	// Because, if set, is the reason for which the suite skips the cases about certificates.
	Because string
}

// Judge tells whether a server accepts an object.
type Judge interface {
	// Valid returns the server's error if the server finds the object invalid. The input says which resource the object
	// belongs to.
	Valid(ctx context.Context, in *Input, object map[string]any) error
}

// Suite has the webhooks and the requests that the cases use. Set its fields before the first case runs. Cases may run
// at the same time.
type Suite struct {
	Hooks  []Hook
	Inputs []*Input
	// Judge checks patched objects. If it is nil, the suite skips the cases that need it.
	Judge Judge
	// Tokens signs the tokens that the suite presents to webhooks that check them. If it is nil, the suite presents none.
	Tokens *Tokens
	// Uncovered has the resources of rules for which no input could be made, and the reasons.
	Uncovered []string

	once    sync.Once
	clients []*http.Client

	versions sync.Once

	mu    sync.Mutex
	took  map[int][]time.Duration
	first map[*Input]*firstAnswer
}

// firstAnswer is the answer to an unchanged input. Many cases use it.
type firstAnswer struct {
	once   sync.Once
	answer *answer
}

// Validate returns all errors in the suite's fields.
func (s *Suite) Validate() error {
	var errs []error
	if len(s.Hooks) == 0 {
		errs = append(errs, errors.New("the suite has no webhook: Suite.Hooks must have at least one"))
	}
	for i := range s.Hooks {
		u := s.Hooks[i].Endpoint.URL
		if !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
			errs = append(errs, fmt.Errorf("webhook %s: the URL %q must begin with https:// or http://", s.Hooks[i].Name, u))
		}
	}
	for _, in := range s.Inputs {
		if in.Hook < 0 || in.Hook >= len(s.Hooks) {
			errs = append(errs, fmt.Errorf("input %s: Hook %d: must be an index into the %d webhooks of the suite", in.Origin, in.Hook, len(s.Hooks)))
		}
	}
	return errors.Join(errs...)
}

// setVersions changes each input whose webhook accepts v1beta1, but not v1, to a review of v1beta1. Both versions have
// the same fields.
func (s *Suite) setVersions() {
	for _, in := range s.Inputs {
		if h := s.hook(in); !h.accepts("v1") && h.accepts("v1beta1") {
			in.whole["apiVersion"] = "admission.k8s.io/v1beta1"
		}
	}
}

func (s *Suite) hook(in *Input) *Hook { return &s.Hooks[in.Hook] }

// asked returns the answer to an unchanged input. Only the first call for an input sends the review.
func (s *Suite) asked(ctx context.Context, in *Input) *answer {
	s.mu.Lock()
	if s.first == nil {
		s.first = map[*Input]*firstAnswer{}
	}
	f := s.first[in]
	if f == nil {
		f = &firstAnswer{}
		s.first[in] = f
	}
	s.mu.Unlock()
	f.once.Do(func() { f.answer = s.ask(ctx, in, in.review()) })
	return f.answer
}

// Latency returns the number of measured calls, and a duration for each of the parts. For example, half of the measured
// calls took at most the duration for the part 0.5. The suite measures only answered calls with well-formed reviews.
func (s *Suite) Latency(parts ...float64) (calls int, at []time.Duration) {
	var all []time.Duration
	s.mu.Lock()
	for _, took := range s.took {
		all = append(all, took...)
	}
	s.mu.Unlock()
	return len(all), percentiles(all, parts...)
}

// good tells whether the webhook gives a readable answer to an unchanged input, and answers every input in time. A case
// that changes inputs skips an input that isn't good, because a failure after the change could have another cause than
// the change.
func (s *Suite) good(ctx context.Context, in *Input) bool {
	for _, other := range s.Inputs {
		if other.Hook == in.Hook && s.asked(ctx, other).late {
			return false
		}
	}
	return s.asked(ctx, in).unreadable() == ""
}

// applies tells whether the patch in the answer to an unchanged input applies. Only the case patch.applies reports a
// patch that doesn't apply. The cases that change inputs skip an input with such a patch.
func (s *Suite) applies(ctx context.Context, in *Input) bool {
	_, err := s.asked(ctx, in).patched(in.object())
	return err == nil
}

// each calls try for the inputs for which the function keep returns true. It returns the first finding, with the number
// of further inputs that have a finding. If keep returns false for all inputs, the error is Skipped.
func (s *Suite) each(keep func(*Input) bool, try func(*Input) *Finding) ([]Finding, error) {
	var found *Finding
	tried, failed := 0, 0
	for _, in := range s.Inputs {
		if keep != nil && !keep(in) {
			continue
		}
		tried++
		if f := try(in); f != nil {
			failed++
			if f.Sent == "" {
				f.Sent = s.describe(in)
			}
			if found == nil {
				found = f
			}
		}
	}
	switch {
	case tried == 0:
		reason := "the suite has no request that this case can use"
		if len(s.Uncovered) > 0 {
			reason += "; " + strings.Join(s.Uncovered, "; ")
		}
		return nil, Skipped(reason)
	case found == nil:
		return nil, nil
	case failed > 1:
		found.Seen += fmt.Sprintf(" (and %d of %d other inputs)", failed-1, tried-1)
	}
	return []Finding{*found}, nil
}

// perHook calls try for one input of each webhook: the first input for which keep and the method good return true.
func (s *Suite) perHook(ctx context.Context, keep func(*Input) bool, try func(*Input) *Finding) ([]Finding, error) {
	tried := map[int]bool{}
	return s.each(func(in *Input) bool {
		if tried[in.Hook] || keep != nil && !keep(in) || !s.good(ctx, in) {
			return false
		}
		tried[in.Hook] = true
		return true
	}, try)
}

// describe returns a description of an input for findings.
func (s *Suite) describe(in *Input) string {
	return fmt.Sprintf("%s: %s", s.hook(in).Name, in)
}
