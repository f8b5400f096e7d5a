package reviews

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// Exchange is a request to a webhook, and its response.
type Exchange struct {
	// Webhook is the name of the webhook, as KIND/NAME/WEBHOOK of its configuration. It is "" if the recording has only
	// the path.
	Webhook string `json:"webhook,omitempty"`
	// Path is the path of the webhook's URL. It is "" if the recording has only the webhook's name.
	Path string `json:"path,omitempty"`
	// Request is the AdmissionReview that was sent to the webhook.
	Request json.RawMessage `json:"request"`
	// Response is the AdmissionReview of the webhook's answer. In a normalised Exchange, the patch isn't encoded in
	// base64. Response is empty if Failure has the answer.
	Response json.RawMessage `json:"response,omitempty"`
	// Failure has the status and the body of an answer whose status wasn't 200, or whose body wasn't JSON.
	Failure string `json:"failure,omitempty"`
}

// trees returns the decoded request and the decoded response.
func (e Exchange) trees() (request, response any, err error) {
	if request, err = tree.Decode(e.Request); err != nil {
		return nil, nil, fmt.Errorf("request: %w", err)
	}
	if tree.At(request, "request") == nil {
		return nil, nil, fmt.Errorf("request: must be an AdmissionReview with a request, got kind %q", tree.Text(request, "kind"))
	}
	if response, err = tree.Decode(e.Response); err != nil {
		return nil, nil, fmt.Errorf("response: %w", err)
	}
	return request, response, nil
}

// Answered returns the exchange with another response: an HTTP status and a body.
func (e Exchange) Answered(code int, body []byte) Exchange {
	e.Response, e.Failure = nil, ""
	if code == http.StatusOK && json.Valid(body) {
		e.Response = body
		return e
	}
	e.Failure = strings.TrimSpace(fmt.Sprintf("%d %s: %s", code, http.StatusText(code), body))
	return e
}
