package miniapitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// Fault is a fault that the server injects into its responses, or into its calls of webhooks. docs/faults.md explains
// each field by its name in JSON.
type Fault struct {
	// Name is the name of the fault. Without a name, the server makes one.
	Name string `json:"name,omitempty"`

	// These fields select the requests to which the fault applies. By default, the fault applies to requests for all
	// resources, with all verbs that the effect can be used with. With Paths, the fault is for requests that aren't for
	// resources. With Webhooks, it is for calls of webhooks. In the elements of all lists except Verbs, * stands for
	// any text.
	Verbs      []string `json:"verbs,omitempty"`
	Resources  []string `json:"resources,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`
	Users      []string `json:"users,omitempty"`
	UserAgents []string `json:"userAgents,omitempty"`
	Paths      []string `json:"paths,omitempty"`
	Webhooks   []string `json:"webhooks,omitempty"`
	// Requests are the numbers of the selected requests to which the fault applies, counted from 1: "3", "2-5", "4-",
	// "1,3". If Requests is "", the fault applies to all of them.
	Requests string `json:"requests,omitempty"`
	// Share is a fraction such as 0.1: the fault applies only to this fraction of the requests that the fields above
	// select. 0 stands for all of them.
	Share float64 `json:"share,omitempty"`

	// Latency is a duration ("200ms"), a range ("100ms..300ms"), a mean with its standard deviation ("200ms+-50ms"), or
	// the mean of an exponential distribution ("~200ms"). A fault has a latency, one of the effects of the following
	// fields, or both.
	Latency    string `json:"latency,omitempty"`
	Status     int    `json:"status,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
	Conflict   bool   `json:"conflict,omitempty"`
	Timeout    bool   `json:"timeout,omitempty"`
	Reset      string `json:"reset,omitempty"`
	Truncate   *int   `json:"truncate,omitempty"`
	Close      bool   `json:"close,omitempty"`
	Expire     bool   `json:"expire,omitempty"`
	After      int    `json:"after,omitempty"`
	Stale      string `json:"stale,omitempty"`
	Refuse     bool   `json:"refuse,omitempty"`
	WrongUID   bool   `json:"wrongUID,omitempty"`
	BadPatch   bool   `json:"badPatch,omitempty"`
	Executed   bool   `json:"executed,omitempty"`
}

// InjectedFault is a fault that the server injects, with counts.
type InjectedFault struct {
	Fault `json:",inline"`
	// Matched is the number of requests, or calls of webhooks, that the fault has selected. Injected is the number of
	// requests, or calls of webhooks, into which the fault was injected.
	Matched  uint64 `json:"matched"`
	Injected uint64 `json:"injected"`
}

// faultsPath is the path at which the server lists and changes its faults.
const faultsPath = "/miniapi/v1/faults"

// Inject makes the server inject faults, from now on until remove is called:
//
//	remove, err := srv.Inject(miniapitest.Fault{Verbs: []string{"update"}, Resources: []string{"pods"}, Requests: "3", Conflict: true})
//
// If one of the faults is invalid, Inject returns an error, and the server injects none of them.
func (s *Server) Inject(faults ...Fault) (remove func() error, err error) {
	body, err := json.Marshal(map[string]any{"faults": faults})
	if err != nil {
		return nil, fmt.Errorf("injecting faults: %w", err)
	}
	added, err := askFaults(s.faults(http.MethodPost).Body(body))
	if err != nil {
		return nil, fmt.Errorf("injecting faults: %w", err)
	}
	return func() error {
		var errs []error
		for _, fault := range added {
			if _, err := askFaults(s.faults(http.MethodDelete, fault.Name)); err != nil {
				errs = append(errs, fmt.Errorf("removing fault %s: %w", fault.Name, err))
			}
		}
		return errors.Join(errs...)
	}, nil
}

// Faults returns the faults that the server injects, with counts.
func (s *Server) Faults() ([]InjectedFault, error) {
	faults, err := askFaults(s.faults(http.MethodGet))
	if err != nil {
		return nil, fmt.Errorf("listing faults: %w", err)
	}
	return faults, nil
}

// faults returns a request to the path of the server's faults.
func (s *Server) faults(verb string, name ...string) *rest.Request {
	return s.Client().Discovery().RESTClient().Verb(verb).AbsPath(faultsPath).Suffix(name...)
}

func askFaults(request *rest.Request) ([]InjectedFault, error) {
	result := request.Do(context.Background())
	if err := result.Error(); err != nil { // Error has the server's message, and the error of Raw lacks the message
		return nil, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var list struct {
		Faults []InjectedFault `json:"faults"`
	}
	return list.Faults, json.Unmarshal(body, &list)
}
