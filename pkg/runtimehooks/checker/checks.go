package checker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
)

// Checks returns all checks, in the order in which Run runs them.
func Checks() []Check {
	return []Check{
		{"discovery", "The discovery hook must be implemented by all the Runtime Extensions servers.", "Discovery hook",
			"callers know handlers by discovery alone", checkDiscovery},
		{"sameDiscovery", "Given the same input, discovery always returns the same output.", "Deterministic result",
			"callers ask again from time to time, and expect the same handlers", checkSameDiscovery},
		{"unknownFields", "Fields that a request has, and that the extension doesn't know, are ignored.", "Runtime SDK rules",
			"a newer caller may send fields that the extension doesn't know", everyHandler(checkUnknownFields)},
		{"protocol", "A response is JSON of the hook's type, with the status Success or Failure.", "Runtime SDK rules",
			"an answer has a status that callers know", everyHandler(checkAnswer)},
		{"idempotence", "A Runtime Extension succeeds also if its task has already been completed.", "Idempotence",
			"callers call all handlers again after an error, or if one of them blocks", everyHandler(checkIdempotence)},
		{"determinism", "Given the same input, a Runtime Extension always returns the same output.", "Deterministic result",
			"callers compare answers, and keep some of them", everyHandler(checkDeterminism)},
		{"latency", "A Runtime Extension runs as quickly as possible: here, in half of its timeout.", "Timeouts",
			"the answer comes within half of the timeout that the handler asks for", everyHandler(checkLatency)},
		{"badInput", "A body that is no request is refused, and the extension goes on.", "Availability",
			"a caller's fault doesn't end the extension", everyHandler(checkBadInput)},
		{"method", "Each Runtime Hook is a POST operation.", "Runtime SDK rules",
			"hooks are called by POST alone", everyHandler(checkMethod)},
		{"unknownHandler", "A handler that the extension doesn't have isn't answered for.", "Registering Runtime Extensions",
			"a caller with old knowledge must see that a handler is gone", checkUnknownHandler},
	}
}

// everyHandler returns a check that calls a function for each handler.
func everyHandler(check func(context.Context, *session, handler) error) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error {
		var errs []error
		for _, h := range s.config.Status.Handlers {
			registration, err := s.registry.Get(h.Name)
			if err == nil {
				err = check(ctx, s, handler{registration, s.target.Catalog.Hook(registration.Hook)})
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("handler %q of hook %s/%s: %w", h.Name, h.RequestHook.APIVersion, h.RequestHook.Hook, err))
			}
		}
		return errors.Join(errs...)
	}
}

func checkDiscovery(ctx context.Context, s *session) error {
	handlers, err := s.client.Discover(ctx, s.config)
	if err != nil {
		return err
	}
	s.config.Status.Handlers = handlers
	return s.registry.Add(s.config)
}

func checkSameDiscovery(ctx context.Context, s *session) error {
	again, err := s.client.Discover(ctx, s.config)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(again, s.config.Status.Handlers) {
		return fmt.Errorf("two answers of Discovery must list the same handlers: the first lists %+v, and the second lists %+v", s.config.Status.Handlers, again)
	}
	return nil
}

func checkAnswer(ctx context.Context, s *session, h handler) error {
	_, _, err := s.call(ctx, h)
	return err
}

// callTwice calls a handler twice with the same request, and returns both responses.
func callTwice(ctx context.Context, s *session, h handler) (first, second hooksv1.ResponseObject, err error) {
	if first, _, err = s.call(ctx, h); err != nil {
		return nil, nil, err
	}
	second, _, err = s.call(ctx, h)
	return first, second, err
}

// checkIdempotence calls a handler twice. If the first call has succeeded, the second must succeed too.
func checkIdempotence(ctx context.Context, s *session, h handler) error {
	first, second, err := callTwice(ctx, s, h)
	if err != nil {
		return err
	}
	if first.GetStatus() == hooksv1.ResponseStatusSuccess && second.GetStatus() != hooksv1.ResponseStatusSuccess {
		return fmt.Errorf("two calls with the same request must both succeed: the first call succeeds, and the second call fails with the message %q", second.GetMessage())
	}
	return nil
}

// checkDeterminism compares the responses to two equal calls. It doesn't compare the responses of a blocking hook,
// because the reason to block may end between the calls.
func checkDeterminism(ctx context.Context, s *session, h handler) error {
	first, second, err := callTwice(ctx, s, h)
	if err != nil {
		return err
	}
	if _, blocking := first.(hooksv1.RetryResponseObject); blocking {
		return nil
	}
	was, is := encode(first), encode(second)
	if !bytes.Equal(was, is) {
		return fmt.Errorf("two calls with the same request must have the same answer: the first answer is %s, and the second answer is %s", was, is)
	}
	return nil
}

func encode(response hooksv1.ResponseObject) []byte {
	data, _ := json.Marshal(response) // the error is impossible: the response was decoded from JSON
	return data
}

func checkLatency(ctx context.Context, s *session, h handler) error {
	_, took, err := s.call(ctx, h)
	if err != nil {
		return err
	}
	if took > h.Timeout/2 {
		return fmt.Errorf("the answer takes %s, and must take at most half of the timeout of %s", took, h.Timeout)
	}
	return nil
}

// checkUnknownFields sends a request with a field that no version of the hook has. The handler must answer with the
// HTTP status 200.
func checkUnknownFields(ctx context.Context, s *session, h handler) error {
	request := s.request(h).DeepCopyObject()
	request.GetObjectKind().SetGroupVersionKind(h.descriptor.Request)
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	fields["aFieldOfTheFuture"] = "x"
	if data, err = json.Marshal(fields); err != nil {
		return err
	}
	code, body, err := s.send(ctx, http.MethodPost, h.Hook.Path(h.Handler), data, h.Timeout)
	if err != nil {
		return err
	}
	var common hooksv1.CommonResponse
	if err := json.Unmarshal(body, &common); err != nil || code != http.StatusOK {
		return fmt.Errorf("the answer to a request with an unknown field must be a response in JSON with HTTP status 200, got HTTP status %d: %q", code, body)
	}
	return nil
}

// checkBadInput sends bodies that aren't requests. The handler must refuse each body, and must still answer a request
// afterwards.
func checkBadInput(ctx context.Context, s *session, h handler) error {
	for _, body := range []string{"", "<", `"text"`, `{"settings": "none"}`} {
		code, answer, err := s.send(ctx, http.MethodPost, h.Hook.Path(h.Handler), []byte(body), h.Timeout)
		if err != nil {
			return fmt.Errorf("sending the body %q: %w", body, err)
		}
		var common hooksv1.CommonResponse
		_ = json.Unmarshal(answer, &common) // the body may be plain text
		if code == http.StatusOK && common.Status != hooksv1.ResponseStatusFailure {
			return fmt.Errorf("the answer to the body %q must be an HTTP error or have the status Failure, got the status %q", body, common.Status)
		}
	}
	if _, _, err := s.call(ctx, h); err != nil {
		return fmt.Errorf("a call after bodies that aren't requests: %w", err)
	}
	return nil
}

func checkMethod(ctx context.Context, s *session, h handler) error {
	code, body, err := s.send(ctx, http.MethodGet, h.Hook.Path(h.Handler), nil, h.Timeout)
	if err != nil {
		return err
	}
	var answer hooksv1.CommonResponse
	_ = json.Unmarshal(body, &answer) // the body may be plain text
	if code == http.StatusOK && answer.Status != hooksv1.ResponseStatusFailure {
		return fmt.Errorf("the answer to a GET must be an HTTP error, such as 405, got HTTP status 200: %q", body)
	}
	return nil
}

func checkUnknownHandler(ctx context.Context, s *session) error {
	d, err := s.target.Catalog.Describe(hooksv1.Discovery)
	if err != nil {
		return err
	}
	target := d.Path("") + "/a-handler-that-is-not-there"
	if len(s.config.Status.Handlers) > 0 {
		registration, err := s.registry.Get(s.config.Status.Handlers[0].Name)
		if err != nil {
			return err
		}
		target = registration.Hook.Path("a-handler-that-is-not-there")
	}
	code, _, err := s.send(ctx, http.MethodPost, target, []byte("{}"), 10*time.Second)
	if err != nil {
		return err
	}
	if code == http.StatusOK {
		return fmt.Errorf("the answer to a POST to %s, which no handler has, must be an HTTP error, such as 404, got HTTP status 200", target)
	}
	return nil
}
