package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ControlPath is the path at which the server changes its pods. POST of an [Action] in JSON is answered when the action
// is done.
const ControlPath = "/miniapi/v1/pods"

// Action is an action on the pods of a server.
type Action struct {
	// Action is hold, release, step, advance or fail (see the methods of Kubelets).
	Action string `json:"action"`
	// Pods are the pods, as NAMESPACE/NAME: those of step, and the pod of fail.
	Pods []string `json:"pods,omitempty"`
	// By is the time by which advance moves the clock, such as 10s.
	By string `json:"by,omitempty"`
	// Reason is the reason of fail.
	Reason string `json:"reason,omitempty"`
}

// actions are the actions by their names.
var actions = map[string]func(*Kubelets, context.Context, Action) error{
	"hold": func(k *Kubelets, _ context.Context, _ Action) error {
		k.Hold()
		return nil
	},
	"release": func(k *Kubelets, _ context.Context, _ Action) error {
		k.Release()
		return nil
	},
	"step": func(k *Kubelets, ctx context.Context, a Action) error { return k.Step(ctx, a.Pods...) },
	"advance": func(k *Kubelets, ctx context.Context, a Action) error {
		by, err := time.ParseDuration(a.By)
		if err != nil || by < 0 {
			return fmt.Errorf("by %q: must be a duration that isn't negative, such as 10s", a.By)
		}
		return k.Advance(ctx, by)
	},
	"fail": func(k *Kubelets, ctx context.Context, a Action) error {
		if len(a.Pods) != 1 || a.Reason == "" {
			return fmt.Errorf("fail: must have one pod, as NAMESPACE/NAME, and a reason such as OOMKilled")
		}
		return k.Fail(ctx, a.Pods[0], a.Reason)
	},
}

// serveControl serves ControlPath.
func (k *Kubelets) serveControl(w http.ResponseWriter, r *http.Request) {
	err := k.act(w, r)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewBadRequest(err.Error())
	}
	answer := status.Status()
	answer.Kind, answer.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(answer.Code))
	_ = json.NewEncoder(w).Encode(answer)
}

func (k *Kubelets) act(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "pods"}, r.Method)
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	var action Action
	if err := decoder.Decode(&action); err != nil {
		return fmt.Errorf("the action on pods: %w", err)
	}
	do, ok := actions[action.Action]
	if !ok {
		return fmt.Errorf("action %q: must be one of %s", action.Action, strings.Join(slices.Sorted(maps.Keys(actions)), ", "))
	}
	return do(k, r.Context(), action)
}
