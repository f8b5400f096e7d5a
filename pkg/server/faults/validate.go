package faults

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
)

// apiVerbs returns the verbs of requests for resources.
func apiVerbs() []string {
	return []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
}

// httpVerbs returns the verbs of requests for paths that don't belong to a resource.
func httpVerbs() []string {
	return []string{"get", "head", "post", "put", "patch", "delete", "options"}
}

// validate returns the errors of a fault. If the fault has several effects, the error names only the first two.
func (f *Fault) validate() error {
	_, numbers := parseNumbers(f.Requests)
	_, latency := parseLatency(f.Latency)
	_, staleness := parseStaleness(f.Stale)
	_, retryAfter := parseRetryAfter(f.RetryAfter)
	errs := slices.Concat(f.validateSelection(), []error{numbers, latency, staleness, retryAfter}, f.validateEffect(), f.validateSettings())
	return utilerrors.NewAggregate(errs)
}

func (f *Fault) validateSelection() []error {
	var errs []error
	if f.Name != "" {
		for _, wrong := range validation.IsDNS1123Subdomain(f.Name) {
			errs = append(errs, fmt.Errorf("name %q: %s", f.Name, wrong))
		}
	}
	for _, list := range []struct {
		field  string
		values []string
	}{
		{"verbs", f.Verbs},
		{"resources", f.Resources},
		{"namespaces", f.Namespaces},
		{"names", f.Names},
		{"users", f.Users},
		{"userAgents", f.UserAgents},
		{"paths", f.Paths},
		{"webhooks", f.Webhooks},
	} {
		if slices.Contains(list.values, "") {
			errs = append(errs, fmt.Errorf("%s: an element is empty: give each element a value", list.field))
		}
	}
	for _, resource := range f.Resources {
		if lower := strings.ToLower(resource); lower != resource {
			errs = append(errs, fmt.Errorf("resources %q: must be a plural name in lower case, such as pods, deployments.apps or pods/status", resource))
		}
	}
	verbs, because := apiVerbs(), ""
	if len(f.Paths) > 0 {
		verbs, because = httpVerbs(), ", because paths is set"
	}
	for _, verb := range f.Verbs {
		if !slices.Contains(verbs, verb) {
			errs = append(errs, fmt.Errorf("verbs %q: must be one of %s%s", verb, strings.Join(verbs, ", "), because))
		}
	}
	for _, path := range f.Paths {
		if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "*") {
			errs = append(errs, fmt.Errorf("paths %q: must begin with / or *", path))
		}
	}
	if len(f.Paths) > 0 && len(f.Resources)+len(f.Namespaces)+len(f.Names)+len(f.Webhooks) > 0 {
		errs = append(errs, fmt.Errorf("paths %q: can't be set together with resources, namespaces, names or webhooks, because paths select only requests that aren't for resources", f.Paths))
	}
	if f.Share < 0 || f.Share > 1 {
		errs = append(errs, fmt.Errorf("share %g: must be more than 0 and at most 1", f.Share))
	}
	return errs
}

func (f *Fault) validateEffect() []error {
	effects := f.effects()
	switch {
	case len(effects) == 0 && f.Latency == "":
		var names []string
		for _, t := range traits() {
			names = append(names, string(t.effect))
		}
		return []error{fmt.Errorf("the fault has no effect: give latency or one of %s", strings.Join(names, ", "))}
	case len(effects) > 1:
		return []error{fmt.Errorf("%s and %s: give one of them, because a fault has one effect", effects[0].effect, effects[1].effect)}
	}
	var errs []error
	for _, t := range effects {
		switch {
		case len(f.Webhooks) > 0 && !t.webhooks:
			errs = append(errs, fmt.Errorf("%s: can't be set together with webhooks, because this effect is for requests", t.effect))
		case len(f.Webhooks) == 0 && !t.requests:
			errs = append(errs, fmt.Errorf("%s: must be set together with webhooks, such as *, because this effect is for calls of webhooks", t.effect))
		}
		for _, verb := range f.Verbs {
			if len(t.verbs) > 0 && !slices.Contains(t.verbs, verb) {
				errs = append(errs, fmt.Errorf("%s: can't be set for the verb %q: must be one of %s", t.effect, verb, strings.Join(t.verbs, ", ")))
			}
		}
		if len(t.verbs) > 0 && len(f.Paths) > 0 {
			errs = append(errs, fmt.Errorf("%s: can't be set together with paths, because this effect is for requests for resources", t.effect))
		}
		if f.Executed && !t.executes {
			errs = append(errs, fmt.Errorf("executed: can't be set together with %s: must be set together with status, timeout or reset", t.effect))
		}
	}
	if f.Executed && len(effects) == 0 {
		errs = append(errs, errors.New("executed: must be set together with status, timeout or reset"))
	}
	return errs
}

// validateSettings checks the values of effects, and the fields that only some effects use.
func (f *Fault) validateSettings() []error {
	var errs []error
	if f.Status != 0 && (f.Status < http.StatusBadRequest || f.Status > 599) {
		errs = append(errs, fmt.Errorf("status %d: must be the code of an error, 400 to 599", f.Status))
	}
	if f.Reset != "" && f.Reset != resetStream && f.Reset != resetConnection {
		errs = append(errs, fmt.Errorf("reset %q: must be %s or %s", f.Reset, resetStream, resetConnection))
	}
	if f.Truncate != nil && *f.Truncate < 0 {
		errs = append(errs, fmt.Errorf("truncate %d: must not be negative", *f.Truncate))
	}
	if f.After < 0 {
		errs = append(errs, fmt.Errorf("after %d: must not be negative", f.After))
	}
	for _, field := range []struct {
		name, needs string
		set, may    bool
	}{
		{"reason", "status", f.Reason != "", f.Status != 0},
		{"message", "status", f.Message != "", f.Status != 0},
		{"retryAfter", "status or timeout", f.RetryAfter != "", f.Status != 0 || f.Timeout},
		{"after", "close or expire", f.After != 0, f.Close || f.Expire},
	} {
		if field.set && !field.may {
			errs = append(errs, fmt.Errorf("%s: must be set together with %s", field.name, field.needs))
		}
	}
	if len(f.Webhooks) > 0 && (f.Reason != "" || f.Message != "") {
		errs = append(errs, fmt.Errorf("reason %q, message %q: belong to responses to requests, so a fault with webhooks must have neither", f.Reason, f.Message))
	}
	return errs
}
