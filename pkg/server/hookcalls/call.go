package hookcalls

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// CallPath is the path at which clients call hooks without using the Go package pkg/runtimehooks. The body is a
// hookclient.Call, and the answer is a hookclient.Result.
const CallPath = "/miniapi/v1/runtimehooks/call"

// serveCall calls a hook for a client. The status is 405 for another method than POST, 400 for an invalid call, and 503
// before the server has discovered the extensions of the ExtensionConfigs that were stored at its start. Errors of
// extensions are in the result.
func (h *Hooks) serveCall(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, req.Method, schema.GroupResource{}, "", "hooks are called by POST", 0, true))
		return
	}
	var call hookclient.Call
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, hookclient.MaxBodyBytes)).Decode(&call); err != nil {
		refuse(w, apierrors.NewBadRequest(fmt.Sprintf("the body must be the call of a hook in JSON: %v", err)))
		return
	}
	result, err := h.client.Do(req.Context(), call)
	switch {
	case errors.Is(err, hookregistry.ErrNotReady):
		w.Header().Set("Retry-After", "1")
		refuse(w, apierrors.NewServiceUnavailable(err.Error()))
	case err != nil:
		refuse(w, apierrors.NewBadRequest(err.Error()))
	default:
		writeJSON(w, result)
	}
}

// refuse writes the error as a Status, like the API.
func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.APIVersion, status.Kind = "v1", "Status"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // an error means that the client is gone
}
