package webhooksuite

import (
	"context"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// requestCases returns the cases about fields of requests that API servers send, or may send in a newer version.
func requestCases() []Case {
	cases := []Case{}
	for _, operation := range []struct{ id, name, promise string }{
		{"request.create", "CREATE", "oldObject is null for CREATE operations."},
		{"request.update", "UPDATE", "object is the new object being admitted, oldObject is the existing object."},
		{"request.delete", "DELETE", "object is null for DELETE operations; oldObject is the existing object."},
		{"request.connect", "CONNECT",
			"oldObject and options are null for CONNECT operations; object has the options of the connection, such as PodExecOptions."},
	} {
		cases = append(cases, Case{
			ID: operation.id, Promise: operation.promise, Source: requestSource, Level: LevelError,
			Advice: "Decode only what the operation has: object for CREATE, UPDATE and CONNECT, oldObject for UPDATE and DELETE. Or leave the operation out of the rules.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(func(in *Input) bool {
					return in.Operation() == operation.name && in.Subresource() == "" || operation.name == "CONNECT" && in.Operation() == "CONNECT"
				},
					func(in *Input) *Finding { return understood(in, s.asked(ctx, in)) })
			},
		})
	}
	return append(cases,
		Case{
			ID: "request.subresource", Level: LevelError, Source: requestSource,
			Promise: "A request for a subresource has subResource, and an object of the subresource's kind, such as Scale.",
			Advice:  "Look at request.subResource and request.kind before the object is decoded, or leave the subresources out of the rules.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.each(func(in *Input) bool { return in.Subresource() != "" && in.Operation() != "CONNECT" },
					func(in *Input) *Finding { return understood(in, s.asked(ctx, in)) })
			},
		},
		Case{
			ID: "request.v1beta1", Level: LevelError, Source: requestSource,
			Promise: "API servers send the first AdmissionReview version in the admissionReviewVersions list they support.",
			Advice:  "Answer admission.k8s.io/v1beta1 in that version: the fields are those of v1. Or leave v1beta1 out of admissionReviewVersions.",
			try:     tryV1beta1,
		},
		changed("request.unknownFields", LevelError, "Unknown fields of an AdmissionReview are tolerated: newer API servers may send fields that the webhook doesn't know.", referenceSource,
			"Decode the AdmissionReview without an error for unknown fields: no DisallowUnknownFields, no strict schema.",
			func(whole, request map[string]any) {
				whole["futureField"] = map[string]any{"a": []any{"b"}}
				request["futureField"] = "value"
				if user, is := request["userInfo"].(map[string]any); is {
					user["futureField"] = true
				}
			}),
		changed("request.unknownObjectFields", LevelError, "Unknown fields of an object are tolerated: newer API servers have fields that the webhook doesn't know.", referenceSource,
			"Decode the object without an error for unknown fields.",
			func(_, request map[string]any) {
				for _, key := range []string{"object", "oldObject"} {
					if object, is := request[key].(map[string]any); is {
						object["futureField"] = map[string]any{"a": "b"}
					}
				}
			}),
		changed("request.absentFields", LevelError, "Fields that are null may be absent: object, oldObject and options where the operation has none.", requestSource,
			"Treat an absent field as null.",
			func(_, request map[string]any) {
				for key, value := range request {
					if value == nil {
						delete(request, key)
					}
				}
				if request["operation"] == "CONNECT" {
					delete(request, "options")
				}
			}),
		changed("request.dryRun", LevelError, "Webhooks with side effects avoid actuating those side effects when dryRun is true, and answer as otherwise.", sideEffectsSource,
			"Decide alike with and without request.dryRun: a dry run tells the user what would happen.",
			func(_, request map[string]any) { request["dryRun"] = true }),
		changed("request.dryRunAbsent", LevelError, "dryRun is optional, and defaults to false.", referenceSource,
			"Treat an absent dryRun as false.",
			func(_, request map[string]any) { delete(request, "dryRun") }),
		sounds("request.userInfo", LevelError, "userInfo has the username alone if the user has no uid, no groups and no extra fields.", referenceSource,
			"Treat absent groups, uid and extra as empty.", nil,
			func(_, request map[string]any) { request["userInfo"] = map[string]any{"username": "conformance"} }),
		sounds("request.generateName", LevelError, "On a CREATE operation, the client may rely on the server to generate the name; then name is empty.", referenceSource,
			"Don't rely on request.name or metadata.name in CREATE: use metadata.generateName in messages.",
			func(in *Input) bool {
				return in.Operation() == "CREATE" && in.Subresource() == "" && in.object() != nil
			},
			func(_, request map[string]any) {
				delete(request, "name")
				metadata, is := tree.At(request, "object", "metadata").(map[string]any)
				if is {
					delete(metadata, "name")
					metadata["generateName"] = "conformance-"
				}
			}),
		sounds("request.bareMetadata", LevelError, "labels and annotations are optional: an object may have neither.", referenceSource,
			"Treat absent labels and annotations as empty. A patch that adds a label needs an operation that adds the map first.",
			func(in *Input) bool { return in.object() != nil },
			func(_, request map[string]any) {
				for _, key := range []string{"object", "oldObject"} {
					if metadata, is := tree.At(request, key, "metadata").(map[string]any); is {
						delete(metadata, "labels")
						delete(metadata, "annotations")
					}
				}
			}),
		Case{
			ID: "request.keyOrder", Level: LevelError, Source: "RFC 8259, Objects",
			Promise: "An object is an unordered collection of names and values: request may come before apiVersion and kind.",
			Advice:  "Use a JSON library that doesn't depend on the order of names.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perHook(ctx, nil, func(in *Input) *Finding {
					r := in.review()
					r.body = encoded(mustTree(r.body), true)
					return s.compared(ctx, in, r, message{}, "the same request with its fields in another order")
				})
			},
		},
		Case{
			ID: "request.timeout", Level: LevelError, Source: admissionServerLimit,
			Promise: "The query parameter timeout tells the webhook how long the API server waits.",
			Advice:  "Accept any query: route by the path alone. The parameter is a duration, such as 10s.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perHook(ctx, nil, func(in *Input) *Finding {
					for _, timeout := range []string{"1s", "30s", "500ms"} {
						if f := s.compared(ctx, in, in.review(), message{timeout: timeout}, "the same request with ?timeout="+timeout); f != nil {
							return f
						}
					}
					return nil
				})
			},
		},
	)
}

// understood returns a finding if the answer to a good request is wrong. The schema of a custom resource may allow a
// random value that the webhook's Go type refuses, such as the duration "f20". If the webhook refuses such a value with
// the code 400, the finding is only advice.
func understood(in *Input, a *answer) *Finding {
	if fault := a.unreadable(); fault != "" {
		return &Finding{Seen: fault}
	}
	fault := a.misunderstood()
	if fault == "" {
		return nil
	}
	if code, _ := a.status(); in.Random && code == http.StatusBadRequest {
		return &Finding{
			Level: LevelAdvice, Seen: fault,
			Advice: "Let the schema refuse what the webhook can't decode: add a format, a pattern or a rule to the field. The API server's error then names the field.",
		}
	}
	return &Finding{Seen: fault}
}

// changed returns a case that changes requests in a way that must not change the outcome.
func changed(id string, level Level, promise, source, advice string, change func(whole, request map[string]any)) Case {
	return Case{
		ID: id, Promise: promise, Source: source, Level: level, Advice: advice,
		try: func(ctx context.Context, s *Suite) ([]Finding, error) {
			return s.each(func(in *Input) bool { return s.good(ctx, in) && s.applies(ctx, in) }, func(in *Input) *Finding {
				r := in.with(change)
				object, _ := mustTree(r.body)["request"].(map[string]any)["object"].(map[string]any)
				was, got := s.asked(ctx, in), s.ask(ctx, in, r)
				sent := s.describe(in) + ", changed: " + changeOf(in, r)
				if fault := got.worse(was); fault != "" {
					return &Finding{Sent: sent, Seen: fault}
				}
				if was.allowed != got.allowed || was.misunderstood() == "" && got.misunderstood() != "" {
					return &Finding{Sent: sent, Seen: outcomeOf(was, nil).difference(outcomeOf(got, nil))}
				}
				if _, err := got.patched(object); err != nil {
					return &Finding{Sent: sent, Seen: err.Error()}
				}
				if len(was.patch) > 0 != (len(got.patch) > 0) {
					return &Finding{Sent: sent, Seen: "only one of the two answers has a patch"}
				}
				return nil
			})
		},
	}
}

// sounds returns a case that changes requests. After the change, the webhook may make another decision, but it must
// answer. If the function keep isn't nil, the case uses only inputs for which keep returns true.
func sounds(id string, level Level, promise, source, advice string, keep func(*Input) bool, change func(whole, request map[string]any)) Case {
	return Case{
		ID: id, Promise: promise, Source: source, Level: level, Advice: advice,
		try: func(ctx context.Context, s *Suite) ([]Finding, error) {
			return s.each(func(in *Input) bool {
				return (keep == nil || keep(in)) && s.good(ctx, in) && s.applies(ctx, in) && s.asked(ctx, in).misunderstood() == ""
			}, func(in *Input) *Finding {
				r := in.with(change)
				got := s.ask(ctx, in, r)
				sent := s.describe(in) + ", changed: " + changeOf(in, r)
				if fault := got.worse(s.asked(ctx, in)); fault != "" {
					return &Finding{Sent: sent, Seen: fault}
				}
				if f := understood(in, got); f != nil {
					f.Sent = sent
					return f
				}
				object, _ := mustTree(r.body)["request"].(map[string]any)["object"].(map[string]any)
				if _, err := got.patched(object); err != nil {
					return &Finding{Sent: sent, Seen: "a patch that doesn't apply: " + err.Error()}
				}
				return nil
			})
		},
	}
}

// compared sends a review that means the same as the input, and returns a finding if the outcome differs. The argument
// sent is a text that describes the difference between the review and the input.
func (s *Suite) compared(ctx context.Context, in *Input, r *review, m message, sent string) *Finding {
	return s.comparedBy(ctx, in, s.client(in.Hook), r, m, sent)
}

// comparedBy does the same as the method compared, but its argument client sends the review.
func (s *Suite) comparedBy(ctx context.Context, in *Input, client *http.Client, r *review, m message, sent string) *Finding {
	got := s.askBy(ctx, in, client, r, m)
	sent = s.describe(in) + ", " + sent
	if fault := got.worse(s.asked(ctx, in)); fault != "" {
		return &Finding{Sent: sent, Seen: fault}
	}
	if d := outcomeOf(s.asked(ctx, in), in.object()).difference(outcomeOf(got, in.object())); d != "" {
		return &Finding{Sent: sent, Seen: d}
	}
	return nil
}

// tryV1beta1 sends reviews of v1beta1 to webhooks that accept it.
func tryV1beta1(ctx context.Context, s *Suite) ([]Finding, error) {
	beta := func(whole, _ map[string]any) { whole["apiVersion"] = "admission.k8s.io/v1beta1" }
	return s.each(func(in *Input) bool {
		return s.hook(in).accepts("v1beta1") && s.good(ctx, in)
	}, func(in *Input) *Finding {
		got := s.ask(ctx, in, in.with(beta))
		if s.hook(in).Configuration == nil && got.code != 200 && got.err == nil {
			return nil // without a configuration, the webhook doesn't have to accept v1beta1
		}
		if fault := got.worse(s.asked(ctx, in)); fault != "" {
			return &Finding{Sent: s.describe(in) + ", as v1beta1", Seen: fault}
		}
		return nil
	})
}

// accepts tells whether the webhook accepts reviews of a version. A webhook without a configuration accepts any
// version.
func (h *Hook) accepts(version string) bool {
	if h.Configuration == nil {
		return true
	}
	versions := h.Entry.AdmissionReviewVersions
	if len(versions) == 0 && h.Configuration.isBeta() {
		versions = []string{"v1beta1"}
	}
	for _, v := range versions {
		if v == version {
			return true
		}
	}
	return false
}

// mustTree decodes JSON that the suite itself has encoded.
func mustTree(body []byte) map[string]any {
	value, _ := tree.Decode(body)
	whole, _ := value.(map[string]any)
	return whole
}

// changeOf describes the first difference between the requests of an input and of a review, except for the uid.
func changeOf(in *Input, r *review) string {
	request, _ := mustTree(r.body)["request"].(map[string]any)
	request["uid"] = in.request["uid"]
	if d := differs("request", in.request, request); d != "" {
		return d
	}
	return "the AdmissionReview"
}
