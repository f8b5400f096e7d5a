package webhooksuite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// If all answers of a webhook have the same fault, only the cases about that fault have findings of the level error.
func TestOneFaultOneCase(t *testing.T) {
	t.Parallel()
	two := int32(2)
	for _, tc := range []struct {
		name, by string
		also     []string
		handler  func() http.Handler
		change   func(*webhooksuite.Hook)
	}{
		{"content type", "response.contentType", nil, finished(func(e *exchange) { e.contentType = "text/plain" }),
			func(*webhooksuite.Hook) {}},
		{"uid", "response.uid", nil, finished(func(e *exchange) { e.response["uid"] = "" }), func(*webhooksuite.Hook) {}},
		{"kind", "response.kind", nil, finished(func(e *exchange) { e.answer["kind"] = "Review" }), func(*webhooksuite.Hook) {}},
		{"patch", "patch.applies", nil, decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/missing/key", "value": "a"}
		})), func(*webhooksuite.Hook) {}},
		{"about as slow as the timeout", "response.answered", []string{"request.create", "request.update", "request.connect", "request.subresource"}, decided(func(e *exchange) {
			addLabel(e)
			if e.request["operation"] != "DELETE" {
				time.Sleep(2300 * time.Millisecond) //nolint:forbidigo // this handler is slow on purpose
			}
		}), func(h *webhooksuite.Hook) { h.Entry.TimeoutSeconds = &two }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			suite := served(t, tc.handler(), tc.change)
			for _, c := range webhooksuite.Cases() {
				findings, err := c.Run(context.Background(), suite)
				var skipped webhooksuite.Skipped
				if err != nil && !asSkipped(err, &skipped) {
					t.Errorf("%s: %v", c.ID, err)
				}
				if c.ID == tc.by && len(findings) == 0 {
					t.Errorf("%s finds nothing", c.ID)
				}
				for _, f := range findings {
					if strings.HasPrefix(c.ID, "latency.") {
						continue // the machine may be busy, so the latency says nothing about the handler
					}
					if f.Level == webhooksuite.LevelError && c.ID != tc.by && !slices.Contains(tc.also, c.ID) {
						t.Errorf("%s: %s", c.ID, f.Seen)
					}
				}
			}
		})
	}
}

// Many working webhooks have one of the faults in this table. kube-apiserver accepts the answers of these webhooks, so
// no case fails.
func TestTolerated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		handler func() http.Handler
	}{
		{"content type of controller-runtime", finished(func(e *exchange) { e.contentType = "text/plain; charset=utf-8" })},
		{"a message without a request is allowed", func() http.Handler {
			next := good()
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				review := map[string]any{}
				if err := json.Unmarshal(body, &review); (err == nil || len(body) == 0) && review["request"] == nil {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"","allowed":true}}`)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
			})
		}},
		{"objects of a wrong type as 500", func() http.Handler {
			next := good()
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				e := &exchange{raw: body}
				if err := readReview(e); err != nil && e.review["request"] != nil && e.review["kind"] == "AdmissionReview" {
					if _, is := e.review["request"].(map[string]any); is {
						http.Error(w, err.Error(), http.StatusInternalServerError)
						return
					}
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			suite := served(t, tc.handler())
			found := 0
			for _, c := range webhooksuite.Cases() {
				findings, err := c.Run(context.Background(), suite)
				var skipped webhooksuite.Skipped
				if err != nil && !asSkipped(err, &skipped) {
					t.Errorf("%s: %v", c.ID, err)
				}
				for _, f := range findings {
					found++
					if f.Level == webhooksuite.LevelError {
						t.Errorf("%s: %s", c.ID, f.Seen)
					}
				}
			}
			if found == 0 {
				t.Error("nothing is found")
			}
		})
	}
}

// Correct handlers that differ in details have no finding.
func TestRightHandlers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		handler func() http.Handler
	}{
		{"adds a label", func() http.Handler { return good() }},
		{"allows everything", decided(func(e *exchange) { e.response = map[string]any{"uid": e.request["uid"], "allowed": true} })},
		{"adds a status of zero values, as a typed object has", decided(func(e *exchange) {
			addLabel(e)
			if object, is := e.request["object"].(map[string]any); is && object["status"] == nil && e.response["allowed"] == true && len(e.ops) > 0 {
				e.ops = append(e.ops, map[string]any{"op": "add", "path": "/status", "value": map[string]any{"pending": 0, "phase": "", "ready": false}})
			}
		})},
		{"denies everything", decided(func(e *exchange) {
			e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(422, "no")}
		})},
		{"denies without a code", decided(func(e *exchange) {
			e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": map[string]any{"message": "no", "reason": "Forbidden"}}
		})},
		{"warns and annotates", finished(func(e *exchange) {
			e.response["warnings"], e.response["auditAnnotations"] = []string{"set a team"}, map[string]string{"team": "none"}
		})},
		{"denies deletions", decided(func(e *exchange) {
			addLabel(e)
			if e.request["operation"] == "DELETE" {
				e.response["allowed"], e.response["status"] = false, denial(403, "objects stay")
			}
		})},
		{"HTTP/1.1 alone", func() http.Handler { return http1Only{good()} }},
		{"an empty patch with its type", decided(func(e *exchange) {
			addLabel(e)
			if len(e.ops) == 0 && e.object() != nil {
				e.response["patch"], e.response["patchType"] = []byte("[]"), "JSONPatch"
			}
		})},
		{"warnings", finished(func(e *exchange) { e.response["warnings"] = []string{"spec.team is deprecated", "use \"labels\""} })},
		{"an answer in chunks", func() http.Handler {
			h := good()
			h.write = func(w http.ResponseWriter, e *exchange) {
				w.Header().Set("Content-Type", e.contentType)
				w.WriteHeader(e.code)
				body, _ := json.Marshal(e.answer)
				for len(body) > 0 {
					n := min(50, len(body))
					_, _ = w.Write(body[:n])
					_ = http.NewResponseController(w).Flush()
					body = body[n:]
				}
			}
			return h
		}},
		{"v1beta1 alone", func() http.Handler {
			h := good()
			h.read = func(e *exchange) error {
				if err := readReview(e); err != nil {
					return err
				}
				if e.review["apiVersion"] != "admission.k8s.io/v1beta1" {
					return errors.New("want a review of v1beta1")
				}
				return nil
			}
			return h
		}},
		{"slow, but within the timeout", decided(func(e *exchange) {
			addLabel(e)
			time.Sleep(150 * time.Millisecond) //nolint:forbidigo // this handler is slow on purpose
		})},
		{"charset in the answer", finished(func(e *exchange) { e.contentType = "application/json; charset=utf-8" })},
		{"null where nothing is", finished(func(e *exchange) {
			for _, key := range []string{"patch", "patchType", "status", "warnings", "auditAnnotations"} {
				if _, has := e.response[key]; !has {
					e.response[key] = nil
				}
			}
		})},
		{"a patch that is null, as Go encodes no operations", decided(func(e *exchange) {
			addLabel(e)
			if len(e.ops) == 0 {
				e.response["patch"], e.response["patchType"] = []byte("null"), "JSONPatch"
			}
		})},
		{"bad input as a denial", func() http.Handler {
			next := good()
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if err := readReview(&exchange{raw: body}); err != nil {
					w.Header().Set("Content-Type", "application/json")
					_ = json.NewEncoder(w).Encode(map[string]any{
						"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
						"response": map[string]any{"uid": "", "allowed": false, "status": denial(400, err.Error())},
					})
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
			})
		}},
		{"strict about messages", before(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				http.Error(w, "want a POST of JSON", http.StatusUnsupportedMediaType)
				return false
			}
			r.Body = http.MaxBytesReader(w, r.Body, 8<<20)
			return true
		})},
		{"null creation time, as typed objects have it", decided(addOp(func(e *exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/creationTimestamp", "value": at(e.object(), "metadata", "creationTimestamp")}
		}))},
		{"operations that change nothing", decided(addOp(func(e *exchange) map[string]any {
			return map[string]any{"op": "replace", "path": "/kind", "value": e.object()["kind"]}
		}))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			suite := served(t, tc.handler(), of(tc.name))
			for _, c := range webhooksuite.Cases() {
				findings, err := c.Run(context.Background(), suite)
				var skipped webhooksuite.Skipped
				if err != nil && !asSkipped(err, &skipped) {
					t.Errorf("%s: %v", c.ID, err)
				}
				for _, f := range findings {
					if strings.HasPrefix(c.ID, "latency.") {
						continue // the machine may be busy, so the latency says nothing about the handler
					}
					if c.ID == "config.reviewVersions" && tc.name == "v1beta1 alone" {
						continue // the warning is right: a later API server may send v1 alone
					}
					t.Errorf("%s: %s\nsent: %s\nseen: %s", c.ID, c.Promise, f.Sent, f.Seen)
				}
			}
		})
	}
}

// The schema of a random object may allow a value that the webhook's Go type refuses. If the webhook refuses a random
// object with the code 400, the finding is advice to change the schema. For an object that isn't random, the same
// answer is an error.
func TestUndecodableRandomObject(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		random bool
		level  webhooksuite.Level
	}{
		{"random object", true, webhooksuite.LevelAdvice},
		{"object of the author", false, webhooksuite.LevelError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			suite := served(t, decided(func(e *exchange) {
				e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(http.StatusBadRequest, "time: invalid duration")}
			})())
			for _, in := range suite.Inputs {
				in.Random = tc.random
			}
			for _, c := range webhooksuite.Cases() {
				if c.ID != "request.create" {
					continue
				}
				findings, err := c.Run(context.Background(), suite)
				if err != nil {
					t.Fatal(err)
				}
				if len(findings) == 0 {
					t.Fatalf("%s finds nothing", c.ID)
				}
				for _, f := range findings {
					if f.Level != tc.level {
						t.Errorf("%s: want the level %s, got %s: %s", c.ID, tc.level, f.Level, f.Seen)
					}
				}
			}
		})
	}
}
