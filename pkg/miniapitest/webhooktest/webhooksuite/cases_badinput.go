package webhooksuite

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// badInput is a message that isn't a correct AdmissionReview.
type badInput struct {
	id, name string
	// level is the usual level of a finding about the answer to the message. The default is LevelWarning: no API server
	// sends such a message, so no request of a user fails. If there is no answer, or if the webhook can't answer a good
	// message afterwards, the finding is always an error.
	level   Level
	message func(in *Input) message
	// mayAllow is true if the message contains a request that the webhook may allow.
	mayAllow bool
}

// fate says in words which answers to the message are right.
func (b badInput) fate() string {
	if b.mayAllow {
		return "refused or answered"
	}
	return "refused"
}

// badInputs returns messages that API servers never send.
func badInputs() []badInput {
	body := func(text string) func(*Input) message {
		return func(*Input) message { return message{body: strings.NewReader(text)} }
	}
	changed := func(change func(whole, request map[string]any)) func(*Input) message {
		return func(in *Input) message { return message{body: bytes.NewReader(in.with(change).body)} }
	}
	return []badInput{
		{id: "empty", name: "an empty body", message: func(*Input) message { return message{body: http.NoBody} }},
		{id: "noJSON", name: "a body that isn't JSON", message: body("AdmissionReview?")},
		{id: "truncated", name: "a body that ends early", message: func(in *Input) message {
			whole := in.review().body
			return message{body: bytes.NewReader(whole[:len(whole)/2])}
		}},
		{id: "array", name: "a JSON array", message: body("[]")},
		{id: "null", name: "the JSON value null", message: body("null")},
		{id: "deep", name: "JSON of 20000 levels", message: body(strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000))},
		{id: "noRequest", name: "an AdmissionReview without a request",
			message: body(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`)},
		{id: "requestType", name: "an AdmissionReview whose request is a string",
			message: body(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":"none"}`)},
		{id: "kind", name: "an object of another kind", level: LevelAdvice,
			message: changed(func(whole, _ map[string]any) { whole["kind"], whole["apiVersion"] = "Pod", "v1" })},
		{id: "version", name: "an AdmissionReview of a version that doesn't exist", mayAllow: true,
			message: changed(func(whole, _ map[string]any) { whole["apiVersion"] = "admission.k8s.io/v99" })},
		{id: "contentType", name: "Content-Type text/plain", level: LevelAdvice, mayAllow: true, message: func(in *Input) message {
			return message{body: bytes.NewReader(in.review().body), contentType: "text/plain"}
		}},
		{id: "method", name: "a GET without a body",
			message: func(*Input) message { return message{method: http.MethodGet, body: http.NoBody} }},
		{id: "objectType", name: "an object that is a string", mayAllow: true, message: changed(func(_, request map[string]any) {
			for _, key := range []string{"object", "oldObject"} {
				if request[key] != nil {
					request[key] = "none"
				}
			}
		})},
		{id: "objectNull", name: "a CREATE or UPDATE whose object is null", mayAllow: true,
			message: changed(func(_, request map[string]any) { request["object"] = nil })},
		{id: "metadataType", name: "an object whose metadata is a string", mayAllow: true, message: changed(func(_, request map[string]any) {
			for _, key := range []string{"object", "oldObject"} {
				if object, is := request[key].(map[string]any); is {
					object["metadata"] = "none"
				}
			}
		})},
		{id: "labelsType", name: "an object whose labels are an array of numbers", mayAllow: true, message: changed(func(_, request map[string]any) {
			for _, key := range []string{"object", "oldObject"} {
				if metadata, is := tree.At(request, key, "metadata").(map[string]any); is {
					metadata["labels"], metadata["annotations"] = []any{1, 2}, []any{1, 2}
				}
			}
		})},
	}
}

// badInputCases returns the cases that send bad messages. The right answer to most messages is a refusal, usually with
// a status 4xx. The webhook must still answer good messages afterwards.
func badInputCases() []Case {
	var cases []Case
	for _, bad := range badInputs() {
		if bad.level == "" {
			bad.level = LevelWarning
		}
		cases = append(cases, Case{
			ID: "badInput." + bad.id, Level: bad.level, Source: httpSource,
			Promise: fmt.Sprintf("The 4xx class of status codes indicates that the client seems to have erred: %s is %s, and the webhook goes on.",
				bad.name, bad.fate()),
			Advice: "Check the input before it is used, answer 400 if it can't be read, and let no error end the process or the connection. A webhook that answers 5xx, or allows what it can't read, hides the mistake.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perHook(ctx, nil, func(in *Input) *Finding { return s.tryBad(ctx, in, bad) })
			},
		})
	}
	return cases
}

// tryBad sends a bad message and then a good one, and returns a finding if one of the answers is wrong.
func (s *Suite) tryBad(ctx context.Context, in *Input, bad badInput) *Finding {
	sent := s.describe(in) + ", instead: " + bad.name
	got := s.hook(in).send(ctx, s.client(in.Hook), bad.message(in))
	if after := s.ask(ctx, in, in.review()).worse(s.asked(ctx, in)); after != "" {
		return &Finding{Level: LevelError, Sent: sent + ", then a good request", Seen: after}
	}
	switch {
	case got.err != nil:
		return &Finding{Level: LevelError, Sent: sent, Seen: got.err.Error()}
	case got.code >= http.StatusBadRequest && got.code < http.StatusInternalServerError, got.code == http.StatusNotImplemented:
		return nil // the status 501 says that the webhook doesn't support the method
	case got.code != http.StatusOK:
		return &Finding{Sent: sent, Seen: fmt.Sprintf("the HTTP status %d, with the body %s", got.code, short(got.body))}
	}
	// Many libraries answer with the HTTP status 200 and a denial whose code is 4xx. This means the same as an HTTP
	// status 4xx.
	review := read(&review{}, Unknown, got)
	code, _ := review.status()
	switch {
	case review.response == nil:
		return &Finding{Sent: sent, Seen: "the HTTP status 200, with the body " + short(got.body)}
	case review.allowed && !bad.mayAllow:
		return &Finding{Sent: sent, Seen: "the HTTP status 200, with allowed true"}
	case !review.allowed && code >= http.StatusInternalServerError:
		_, message := review.status()
		return &Finding{Level: LevelWarning, Sent: sent, Seen: fmt.Sprintf("a denial with the code %d: %s", code, message)}
	}
	return nil
}
