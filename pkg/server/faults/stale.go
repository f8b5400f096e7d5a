package faults

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// staleness selects the state that a stale list has: by a resource version, or by the number of writes between the
// state and the request. The zero value stands for the moment at which the fault was added.
type staleness struct{ version, behind uint64 }

// frozen is the value of Fault.Stale that stands for the moment at which the fault was added.
const frozen = "frozen"

// parseStaleness parses Fault.Stale.
func parseStaleness(text string) (staleness, error) {
	if text == "" || text == frozen {
		return staleness{}, nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || number == 0:
		return staleness{}, fmt.Errorf("stale %q: must be %s, a number of writes before the request as in -3, or a resource version", text, frozen)
	case number < 0:
		return staleness{behind: uint64(-number)}, nil
	}
	return staleness{version: uint64(number)}, nil
}

// freeze gives the present resource version to a rule whose Fault.Stale is "frozen".
func (s *ruleSet) freeze(ctx context.Context, r *rule) error {
	if r.effect != stale || r.staleness != (staleness{}) {
		return nil
	}
	now, err := s.now(ctx)
	if err != nil {
		return fmt.Errorf("fault %s: stale %s: asking for the resource version of this moment: %w", r.fault.Name, frozen, err)
	}
	r.staleness.version = now
	return nil
}

// revision returns the resource version of the last write of any object. It comes from a consistent list: the resource
// version of such a list doesn't depend on the list's resource.
func revision(ctx context.Context, namespaces corev1.NamespaceInterface) (uint64, error) {
	list, err := namespaces.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	version, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version %q of the list of namespaces: must be a number: %w", list.ResourceVersion, err)
	}
	return version, nil
}

// outdated returns a list request for the state at the fault's resource version. A request that continues a list
// already names a resource version, and isn't changed.
func (v *visit) outdated(req *http.Request, s staleness) (*http.Request, error) {
	query := req.URL.Query()
	if query.Get("continue") != "" {
		return req, nil
	}
	version := s.version
	if s.behind > 0 {
		now, err := v.rules.now(req.Context())
		if err != nil {
			return nil, err
		}
		version = max(1, now-min(now, s.behind))
	}
	query.Set("resourceVersion", strconv.FormatUint(version, 10))
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	changed := *req
	changed.URL = &url.URL{}
	*changed.URL = *req.URL
	changed.URL.RawQuery = query.Encode()
	return &changed, nil
}
