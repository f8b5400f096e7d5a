package webhooksuite

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// responseCases returns the cases about the answer to unchanged inputs.
func responseCases() []Case {
	cases := []Case{
		answerCase("response.code", inCode, LevelError, "Webhooks respond with a 200 HTTP status code.", responseSource,
			"Answer every AdmissionReview with the HTTP status 200, also one that is denied: the denial is in response.allowed and response.status."),
		answerCase("response.contentType", inContentType, LevelAdvice, "Webhooks respond with Content-Type: application/json.", responseSource,
			"Set the header Content-Type to application/json before the body is written. kube-apiserver reads JSON whatever the header says; Go's net/http sets text/plain by default, and so does controller-runtime."),
		answerCase("response.json", inBody, LevelError, "Webhooks respond with a body containing an AdmissionReview object serialized to JSON.", responseSource,
			"Write one JSON object, and nothing after it."),
		answerCase("response.kind", inKind, LevelError, "The body of the response contains an AdmissionReview object.", responseSource,
			"Set kind to AdmissionReview in the answer."),
		answerCase("response.version", inVersion, LevelError, "The AdmissionReview of the response is in the same version as the one that was sent.", responseSource,
			"Copy apiVersion from the request into the answer."),
		answerCase("response.stanza", inResponse, LevelError, "The AdmissionReview has the response stanza populated.", responseSource,
			"Set response in the answer."),
		answerCase("response.uid", inUID, LevelError, "response.uid is copied from the request.uid sent to the webhook.", responseSource,
			"Copy request.uid into response.uid, also in denials and in error paths."),
		answerCase("response.allowed", inAllowed, LevelError, "response.allowed is either set to true or false.", responseSource,
			"Set response.allowed to a boolean: a string or no value is a failure of the call."),
		answerCase("response.patchType", inPatchType, LevelError, "The only currently supported patchType is JSONPatch; patch and patchType come together.", responseSource,
			"Set patchType to JSONPatch if there is a patch, and leave out both if nothing changes."),
		answerCase("response.patch", inPatch, LevelError, "The patch field contains a base64-encoded array of JSON patch operations.", responseSource,
			"Encode the array of operations as JSON, and that as base64. In Go, the field of type []byte does so."),
		answerCase("response.validating", inValidating, LevelError, "A mutating admission webhook may optionally modify the incoming object: a validating webhook returns neither patch nor patchType.", responseSource,
			"Leave out patch and patchType, or register the webhook in a MutatingWebhookConfiguration."),
		{
			ID: "response.answered", Level: LevelError, Source: availabilitySource,
			Promise: "The webhook answers each call within its timeoutSeconds, on a connection that stays open.",
			Advice:  "Look at the webhook's log for a panic or a deadlock at this request: net/http closes the connection when a handler panics.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(nil, func(in *Input) *Finding { return faultOf(s.asked(ctx, in), inCall) })
			},
		},
		{
			ID: "response.patchOfDenial", Level: LevelAdvice, Source: responseSource,
			Promise: "When allowing a request, a mutating admission webhook may modify the object: the patch of a denial has no effect.",
			Advice:  "Leave out the patch in denials.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(nil, func(in *Input) *Finding {
					if a := s.asked(ctx, in); a.unreadable() == "" && !a.allowed && len(a.patch) > 0 {
						return &Finding{Seen: "a patch in a denial"}
					}
					return nil
				})
			},
		},
		{
			ID: "response.patchWithoutObject", Level: LevelError, Source: requestSource,
			Promise: "object is null for DELETE operations: there is nothing that a patch could modify, and a patch fails the request.",
			Advice:  "Return no patch if request.object is null.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(func(in *Input) bool { return in.object() == nil }, func(in *Input) *Finding {
					if a := s.asked(ctx, in); a.unreadable() == "" && a.allowed && len(a.patch) > 0 {
						return &Finding{Seen: "a patch for a request without an object"}
					}
					return nil
				})
			},
		},
		{
			ID: "response.denial", Level: LevelWarning, Source: responseSource,
			Promise: "When rejecting a request, the webhook can customize the http code and message returned to the user using the status field.",
			Advice:  "Set response.status.message to what the user should change, and response.status.code to 403 or 422; a code below 400 is replaced.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(nil, func(in *Input) *Finding {
					a := s.asked(ctx, in)
					if a.unreadable() != "" || a.allowed {
						return nil
					}
					code, message := a.status()
					switch {
					case code < http.StatusBadRequest || code >= 600:
						return &Finding{Seen: fmt.Sprintf("a denial with the code %d", code)}
					case strings.TrimSpace(message) == "" && tree.Text(a.response, "status", "reason") == "":
						return &Finding{Seen: "a denial without a message and without a reason"}
					}
					return nil
				})
			},
		},
		{
			ID: "response.warnings", Level: LevelWarning, Source: responseSource,
			Promise: `Warnings don't include a "Warning:" prefix, and are limited to 120 characters if possible: those over 256 may be truncated.`,
			Advice:  "Shorten the warnings, and leave out the prefix: clients add it.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(nil, func(in *Input) *Finding { return warningsOf(s.asked(ctx, in)) })
			},
		},
		{
			ID: "response.auditAnnotations", Level: LevelWarning, Source: referenceSource,
			Promise: "auditAnnotations is an unstructured key value map; the API server prefixes the keys with the name of the webhook, so a key has no slash.",
			Advice:  "Use keys of letters, digits, dots, dashes and underscores, and string values. Others are dropped from audit events, or fail the call.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(nil, func(in *Input) *Finding { return auditAnnotationsOf(s.asked(ctx, in)) })
			},
		},
	}
	return cases
}

// answerCase returns a case about one aspect of the answers.
func answerCase(id string, of aspect, level Level, promise, source, advice string) Case {
	return Case{
		ID: id, Promise: promise, Source: source, Level: level, Advice: advice,
		try: func(ctx context.Context, s *Suite) ([]Finding, error) {
			return s.each(nil, func(in *Input) *Finding { return faultOf(s.asked(ctx, in), of) })
		},
	}
}

func faultOf(a *answer, of aspect) *Finding {
	if fault := a.faults[of]; fault != "" {
		return &Finding{Seen: fault}
	}
	return nil
}

func warningsOf(a *answer) *Finding {
	warnings, _ := a.response["warnings"].([]any)
	total := 0
	for _, w := range warnings {
		text, _ := w.(string)
		length := utf8.RuneCountInString(text)
		total += length
		switch {
		case strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "warning:"):
			return &Finding{Seen: fmt.Sprintf("the warning %q", text)}
		case length > 256:
			return &Finding{Seen: fmt.Sprintf("a warning of %d characters", length)}
		case length > 120:
			return &Finding{Level: LevelAdvice, Seen: fmt.Sprintf("a warning of %d characters", length)}
		}
	}
	if total > 4096 {
		return &Finding{Seen: fmt.Sprintf("warnings of %d characters altogether, of which the API server drops those after 4096", total)}
	}
	return nil
}

func auditAnnotationsOf(a *answer) *Finding {
	value, has := a.response["auditAnnotations"]
	if !has || value == nil {
		return nil
	}
	annotations, is := value.(map[string]any)
	if !is {
		return &Finding{Level: LevelError, Seen: "auditAnnotations that aren't an object"}
	}
	for key, value := range annotations {
		if _, is := value.(string); !is {
			return &Finding{Level: LevelError, Seen: fmt.Sprintf("the audit annotation %s is no string", key)}
		}
		if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
			return &Finding{Seen: fmt.Sprintf("the audit annotation %q", key)}
		}
	}
	return nil
}
