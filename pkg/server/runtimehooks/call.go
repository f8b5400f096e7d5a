package runtimehooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/client"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/registry"
)

// CallPath is the path at which a client that isn't built with pkg/runtimehooks calls hooks: the body is a client.Call,
// and the answer a client.Result.
const CallPath = "/miniapi/v1/runtimehooks/call"

// serveCall calls a hook for a client. A call that is wrong is answered by 400, and one that the server isn't ready for by
// 503. What extensions answer is in the result.
func (h *Hooks) serveCall(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "hooks are called by POST", http.StatusMethodNotAllowed)
		return
	}
	var call client.Call
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, client.MaxBodyBytes)).Decode(&call); err != nil {
		http.Error(w, fmt.Sprintf("the body is no call: %v", err), http.StatusBadRequest)
		return
	}
	result, err := h.client.Do(req.Context(), call)
	switch {
	case errors.Is(err, registry.ErrNotReady):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		writeJSON(w, result)
	}
}
