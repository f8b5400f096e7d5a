package miniapitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/fault"
)

// Fault is a fault that the server injects into its responses, or into its calls of webhooks. docs/faults.md explains
// each field by its name in JSON.
type Fault = fault.Fault

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
