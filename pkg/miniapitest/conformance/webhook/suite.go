package webhook

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

// Kind is the kind of a webhook.
type Kind string

// The kinds of webhooks. An unknown one, of which only the URL is given, may do what either kind may do.
const (
	Unknown    Kind = ""
	Mutating   Kind = "mutating"
	Validating Kind = "validating"
)

// Hook is a webhook that is judged.
type Hook struct {
	// Name is the name in the configuration, or what stands for it.
	Name string
	Kind Kind
	// Configuration is the object that has the webhook; nil if only the URL is given.
	Configuration *Configuration
	// Entry is the webhook in the configuration. One of a validating configuration has no reinvocationPolicy.
	Entry    admissionregistrationv1.MutatingWebhook
	Endpoint Endpoint
}

// Endpoint is where a webhook answers.
type Endpoint struct {
	// URL is that of the calls.
	URL string
	// TLS has the authorities and the name by which the certificate is checked; nil stands for the system's
	// authorities and the host of the URL.
	TLS *tls.Config
	// Transport, if there is one, makes the calls instead of connections of the suite. Cases about connections and
	// certificates are skipped then.
	Transport http.RoundTripper
	// Because, if it isn't empty, is the reason why cases about certificates are skipped.
	Because string
}

// Judge says whether a server takes an object.
type Judge interface {
	// Valid returns the server's error if it doesn't take the object of a request, were it as given.
	Valid(ctx context.Context, in *Input, object map[string]any) error
}

// Suite has what the cases are tried with. Its fields are set before the first case runs, and cases may run at once.
type Suite struct {
	Hooks  []Hook
	Inputs []*Input
	// Judge judges patched objects. Without one, the cases that need it are skipped.
	Judge Judge
	// Uncovered are rules for which no input could be made, with the reasons.
	Uncovered []string

	once    sync.Once
	clients []*http.Client

	mu    sync.Mutex
	took  map[int][]time.Duration
	first map[*Input]*firstAnswer
}

// firstAnswer is the answer to an input as it is, which many cases look at.
type firstAnswer struct {
	once   sync.Once
	answer *answer
}

// Validate returns everything that is wrong with the suite.
func (s *Suite) Validate() error {
	var errs []error
	if len(s.Hooks) == 0 {
		errs = append(errs, errors.New("the suite has no webhook"))
	}
	for i := range s.Hooks {
		u := s.Hooks[i].Endpoint.URL
		if !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
			errs = append(errs, fmt.Errorf("webhook %s: the URL %q must begin with https:// or http://", s.Hooks[i].Name, u))
		}
	}
	for _, in := range s.Inputs {
		if in.Hook < 0 || in.Hook >= len(s.Hooks) {
			errs = append(errs, fmt.Errorf("input %s: the suite has no webhook %d", in.Origin, in.Hook))
		}
	}
	return errors.Join(errs...)
}

// hook returns the webhook of an input.
func (s *Suite) hook(in *Input) *Hook { return &s.Hooks[in.Hook] }

// asked returns the answer to an input as it is. The webhook is asked once.
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

// Latency returns how many calls of plain requests were made, and how long the given parts of them took at most: 0.5
// stands for one half.
func (s *Suite) Latency(parts ...float64) (calls int, at []time.Duration) {
	var all []time.Duration
	s.mu.Lock()
	for _, took := range s.took {
		all = append(all, took...)
	}
	s.mu.Unlock()
	return len(all), percentiles(all, parts...)
}

// good reports whether the answer to an unchanged input allows or denies, and the webhook answers each input in time. A case
// that changes an input learns nothing from a webhook that already fails for the unchanged one.
func (s *Suite) good(ctx context.Context, in *Input) bool {
	for _, other := range s.Inputs {
		if other.Hook == in.Hook && s.asked(ctx, other).late {
			return false
		}
	}
	return s.asked(ctx, in).unreadable() == ""
}

// each tries something for the inputs that are kept, and reports the first that fails, with the number of others.
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
		reason := "no input is of this kind"
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

// perHook tries something for the first input of each webhook that is kept and that the webhook answers well.
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

// describe says what an input is.
func (s *Suite) describe(in *Input) string {
	return fmt.Sprintf("%s: %s", s.hook(in).Name, in)
}
