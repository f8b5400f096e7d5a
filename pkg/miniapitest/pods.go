package miniapitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// Pods are the pods of a server with WithWorkloads, which go through stages. Names of pods have the form NAMESPACE/NAME.
type Pods struct{ server *Server }

// Pods returns the pods of a server with WithWorkloads.
func (s *Server) Pods() Pods { return Pods{s} }

// Hold stops the clock of the pods. No stage of a pod begins until Step, Advance or Release. Reset and Restore release
// the pods.
func (p Pods) Hold() error { return p.act(control.PodAction{Action: "hold"}) }

// Release lets the clock of the pods go on.
func (p Pods) Release() error { return p.act(control.PodAction{Action: "release"}) }

// Step lets held pods come to their next stages at once, without the delays of the stages. Without names, it does so for
// all pods. What the stages write is stored when Step returns.
func (p Pods) Step(pods ...string) error { return p.act(control.PodAction{Action: "step", Pods: pods}) }

// Advance moves the clock of held pods, and lets the pods come to the stages whose time comes meanwhile, in their order.
func (p Pods) Advance(by time.Duration) error {
	return p.act(control.PodAction{Action: "advance", By: by.String()})
}

// Fail lets a pod fail for a reason, such as "OOMKilled" or "Evicted". The pod needn't be held.
func (p Pods) Fail(pod, reason string) error {
	return p.act(control.PodAction{Action: "fail", Pods: []string{pod}, Reason: reason})
}

// podsPath is the path at which the server changes its pods.
const podsPath = "/miniapi/v1/pods"

func (p Pods) act(action control.PodAction) error {
	body, err := json.Marshal(action)
	if err != nil {
		return fmt.Errorf("pods: %s: %w", action.Action, err)
	}
	request := p.server.Client().Discovery().RESTClient().Verb(http.MethodPost).AbsPath(podsPath).Body(body)
	if err := request.Do(context.Background()).Error(); err != nil {
		return fmt.Errorf("pods: %s: %w", action.Action, err)
	}
	return nil
}
