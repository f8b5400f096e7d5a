package webhooksuite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// exchange is a request to a handler and the handler's answer. A handler with a fault changes one part of the exchange.
type exchange struct {
	http   *http.Request
	raw    []byte
	review map[string]any
	// request is the request in the review.
	request map[string]any
	// answer is the AdmissionReview of the answer, and response is the response in it.
	response, answer map[string]any
	code             int
	contentType      string
	// ops are the operations of the response's patch.
	ops []map[string]any
}

func (e *exchange) object() map[string]any {
	object, _ := e.request["object"].(map[string]any)
	return object
}

func at(value any, keys ...string) any {
	for _, key := range keys {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

// handler is a webhook of four functions, which a test can replace. With the functions of good, the webhook adds a label
// to objects, and denies objects with the label deny.
type handler struct {
	// read decodes the body. After an error, the handler answers with status 400.
	read func(*exchange) error
	// decide sets response and ops.
	decide func(*exchange)
	// finish changes the answer before it is written.
	finish func(*exchange)
	// write writes the answer.
	write func(http.ResponseWriter, *exchange)
}

func good() *handler {
	return &handler{read: readReview, decide: addLabel, finish: func(*exchange) {}, write: writeAnswer}
}

func readReview(e *exchange) error {
	decoder := json.NewDecoder(bytes.NewReader(e.raw))
	decoder.UseNumber()
	if err := decoder.Decode(&e.review); err != nil {
		return err
	}
	request, is := e.review["request"].(map[string]any)
	if !is || e.review["kind"] != "AdmissionReview" {
		return fmt.Errorf("no request in an AdmissionReview")
	}
	for _, key := range []string{"object", "oldObject"} {
		object, has := request[key]
		fields, is := object.(map[string]any)
		if has && object != nil && !is {
			return fmt.Errorf("%s is no object", key)
		}
		metadata, is := fields["metadata"].(map[string]any)
		if fields["metadata"] != nil && !is {
			return fmt.Errorf("metadata is no object")
		}
		if _, is := metadata["labels"].(map[string]any); metadata["labels"] != nil && !is {
			return fmt.Errorf("labels are no object")
		}
	}
	e.request = request
	return nil
}

// addLabel is the decision of a good webhook: it denies an object with the label deny, and adds the label team to other
// objects without this label. It allows subresources, connections and requests without an object, without a patch.
func addLabel(e *exchange) {
	e.response = map[string]any{"uid": e.request["uid"], "allowed": true}
	labels, has := at(e.object(), "metadata", "labels").(map[string]any)
	switch {
	case e.object() == nil || e.request["subResource"] != nil || e.request["operation"] == "CONNECT":
	case labels["deny"] != nil:
		e.response["allowed"] = false
		e.response["status"] = map[string]any{"code": 403, "message": "the label deny is there"}
	case !has:
		e.ops = []map[string]any{{"op": "add", "path": "/metadata/labels", "value": map[string]any{"team": "a"}}}
	case labels["team"] == nil:
		e.ops = []map[string]any{{"op": "add", "path": "/metadata/labels/team", "value": "a"}}
	}
}

// addOp returns a decision that adds one operation to the patch of a good webhook. For subresources, connections, and
// requests without an object, the decision equals the decision of a good webhook.
func addOp(op func(*exchange) map[string]any) func(*exchange) {
	return func(e *exchange) {
		addLabel(e)
		if e.object() != nil && e.request["subResource"] == nil && e.request["operation"] != "CONNECT" {
			e.ops = append(e.ops, op(e))
		}
	}
}

func writeAnswer(w http.ResponseWriter, e *exchange) {
	w.Header().Set("Content-Type", e.contentType)
	body, _ := json.Marshal(e.answer)
	w.WriteHeader(e.code)
	_, _ = w.Write(body)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	e := &exchange{http: r, raw: raw, code: http.StatusOK, contentType: "application/json"}
	if err == nil {
		err = h.read(e)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.decide(e)
	if len(e.ops) > 0 {
		patch, _ := json.Marshal(e.ops)
		e.response["patch"], e.response["patchType"] = patch, "JSONPatch"
	}
	e.answer = map[string]any{"apiVersion": e.review["apiVersion"], "kind": "AdmissionReview", "response": e.response}
	h.finish(e)
	h.write(w, e)
}

// finished returns a function that makes a good handler. The function change changes each answer of this handler.
func finished(change func(*exchange)) func() http.Handler {
	return func() http.Handler {
		h := good()
		h.finish = change
		return h
	}
}

// decided returns a function that makes a good handler. The function decide replaces the decision of this handler.
func decided(decide func(*exchange)) func() http.Handler {
	return func() http.Handler {
		h := good()
		h.decide = decide
		return h
	}
}

// before returns a function that makes a good handler. This handler calls f first. If f returns false, the handler does
// nothing more.
func before(f func(http.ResponseWriter, *http.Request) bool) func() http.Handler {
	return func() http.Handler {
		next := good()
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

func denial(code int, message string) map[string]any {
	return map[string]any{"code": code, "message": message}
}

// Each handler has one fault. The row's field "by" is the identifier of the case that must have a finding about this
// fault.
func TestWrongHandlers(t *testing.T) {
	t.Parallel()
	var sequence atomic.Int64
	for _, tc := range []struct {
		name, by string
		handler  func() http.Handler
	}{
		{"another status", "response.code", finished(func(e *exchange) { e.code = http.StatusCreated })},
		{"denial by status", "response.code", finished(func(e *exchange) {
			if e.request["operation"] == "DELETE" {
				e.code = http.StatusForbidden
			}
		})},
		{"content type of Go", "response.contentType", finished(func(e *exchange) { e.contentType = "text/plain; charset=utf-8" })},
		{"no content type", "response.contentType", finished(func(e *exchange) { e.contentType = "" })},
		{"text after the answer", "response.json", func() http.Handler {
			h := good()
			h.write = func(w http.ResponseWriter, e *exchange) {
				writeAnswer(w, e)
				_, _ = io.WriteString(w, `{"allowed": true}`)
			}
			return h
		}},
		{"empty answer", "response.json", func() http.Handler {
			h := good()
			h.write = func(w http.ResponseWriter, _ *exchange) { w.Header().Set("Content-Type", "application/json") }
			return h
		}},
		{"no kind", "response.kind", finished(func(e *exchange) { delete(e.answer, "kind") })},
		{"fixed version", "request.v1beta1", finished(func(e *exchange) { e.answer["apiVersion"] = "admission.k8s.io/v1" })},
		{"older version", "response.version", finished(func(e *exchange) { e.answer["apiVersion"] = "admission.k8s.io/v1beta1" })},
		{"no version", "response.version", finished(func(e *exchange) { delete(e.answer, "apiVersion") })},
		{"response at the top", "response.stanza", finished(func(e *exchange) {
			e.answer = map[string]any{"apiVersion": e.review["apiVersion"], "kind": "AdmissionReview", "allowed": true}
		})},
		{"no uid", "response.uid", finished(func(e *exchange) { delete(e.response, "uid") })},
		{"uid of the object", "response.uid", finished(func(e *exchange) { e.response["uid"] = at(e.object(), "metadata", "uid") })},
		{"uid of the first request", "response.uid", func() http.Handler {
			var first atomic.Value
			return finished(func(e *exchange) {
				first.CompareAndSwap(nil, e.request["uid"])
				e.response["uid"] = first.Load()
			})()
		}},
		{"allowed as text", "response.allowed", finished(func(e *exchange) { e.response["allowed"] = "true" })},
		{"no patchType", "response.patchType", finished(func(e *exchange) { delete(e.response, "patchType") })},
		{"patchType without a patch", "response.patchType", finished(func(e *exchange) { e.response["patchType"] = "JSONPatch" })},
		{"merge patch", "response.patchType", finished(func(e *exchange) {
			if len(e.ops) > 0 {
				e.response["patchType"] = "MergePatch"
			}
		})},
		{"patch without base64", "response.patch", finished(func(e *exchange) {
			if len(e.ops) > 0 {
				e.response["patch"] = e.ops
			}
		})},
		{"patch that is an object", "response.patch", finished(func(e *exchange) {
			if len(e.ops) > 0 {
				e.response["patch"] = []byte(`{"metadata":{"labels":{"team":"a"}}}`)
			}
		})},
		{"patch of a validating webhook", "response.validating", func() http.Handler { return good() }},
		{"patch of a deletion", "response.patchWithoutObject", decided(func(e *exchange) {
			addLabel(e)
			if e.request["operation"] == "DELETE" {
				e.ops = []map[string]any{{"op": "add", "path": "/metadata/labels", "value": map[string]any{"team": "a"}}}
			}
		})},
		{"denial without a word", "response.denial", finished(func(e *exchange) {
			if e.request["operation"] == "UPDATE" {
				delete(e.response, "patch")
				delete(e.response, "patchType")
				e.response["allowed"] = false
			}
		})},
		{"long warning", "response.warnings", finished(func(e *exchange) { e.response["warnings"] = []string{strings.Repeat("a", 300)} })},
		{"prefixed warning", "response.warnings",
			finished(func(e *exchange) { e.response["warnings"] = []string{"Warning: set a team"} })},
		{"qualified audit annotation", "response.auditAnnotations",
			finished(func(e *exchange) { e.response["auditAnnotations"] = map[string]any{"example.com/team": "a"} })},
		{"panic at a deletion", "response.answered", decided(func(e *exchange) {
			addLabel(e)
			if e.request["operation"] == "DELETE" {
				_ = e.request["object"].(map[string]any)["metadata"]
			}
		})},
		{"no object at a deletion", "request.delete", decided(func(e *exchange) {
			addLabel(e)
			if e.object() == nil {
				e.response["allowed"], e.response["status"] = false, denial(400, "there is no content to decode")
			}
		})},
		{"subresource as the whole", "request.subresource", decided(func(e *exchange) {
			addLabel(e)
			if e.request["subResource"] == "scale" {
				e.response["allowed"], e.response["status"] = false, denial(500, "expected a Deployment, got a Scale")
			}
		})},
		{"no v1beta1", "request.v1beta1", before(func(w http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("admission.k8s.io/v1beta1")) {
				http.Error(w, "unknown version", http.StatusBadRequest)
				return false
			}
			return true
		})},
		{"strict review", "request.unknownFields", func() http.Handler {
			h := good()
			h.read = func(e *exchange) error {
				if err := readReview(e); err != nil {
					return err
				}
				if e.request["futureField"] != nil {
					return fmt.Errorf("unknown field")
				}
				return nil
			}
			return h
		}},
		{"strict object", "request.unknownObjectFields", decided(func(e *exchange) {
			addLabel(e)
			if e.object()["futureField"] != nil {
				e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(400, "unknown field")}
				e.ops = nil
			}
		})},
		{"fields must be there", "request.absentFields", func() http.Handler {
			h := good()
			h.read = func(e *exchange) error {
				if err := readReview(e); err != nil {
					return err
				}
				if _, has := e.request["oldObject"]; !has {
					return fmt.Errorf("no oldObject")
				}
				return nil
			}
			return h
		}},
		{"denied dry run of a deletion", "request.dryRun", decided(func(e *exchange) {
			addLabel(e)
			if e.request["dryRun"] == true && e.request["operation"] == "DELETE" {
				e.response["allowed"], e.response["status"] = false, denial(403, "no dry runs of deletions")
			}
		})},
		{"denied dry run", "request.dryRun", finished(func(e *exchange) {
			if e.request["dryRun"] == true {
				e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(403, "no dry runs")}
				e.answer["response"] = e.response
			}
		})},
		{"no mutation in a dry run", "request.dryRun", decided(func(e *exchange) {
			addLabel(e)
			if e.request["dryRun"] == true {
				e.ops = nil
			}
		})},
		{"groups must be there", "request.userInfo", decided(func(e *exchange) {
			addLabel(e)
			if at(e.request, "userInfo", "groups") == nil {
				e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(500, "no groups")}
				e.ops = nil
			}
		})},
		{"name must be there", "request.generateName", decided(func(e *exchange) {
			addLabel(e)
			if name, _ := at(e.object(), "metadata", "name").(string); name == "" && e.object() != nil && e.request["operation"] == "CREATE" {
				e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(400, "no name")}
				e.ops = nil
			}
		})},
		{"labels must be there", "request.bareMetadata", decided(func(e *exchange) {
			addLabel(e)
			for _, op := range e.ops {
				op["path"], op["value"] = "/metadata/labels/team", "a"
			}
		})},
		{"first field first", "request.keyOrder", before(func(w http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.HasPrefix(body, []byte(`{"request"`)) {
				http.Error(w, "the kind comes first", http.StatusBadRequest)
				return false
			}
			return true
		})},
		{"no query", "request.timeout", before(func(w http.ResponseWriter, r *http.Request) bool {
			if timeout := r.URL.Query().Get("timeout"); timeout == "500ms" || timeout == "1s" {
				http.NotFound(w, r)
				return false
			}
			return true
		})},
		{"parent that isn't there", "patch.applies", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/missing/key", "value": "a"}
		}))},
		{"removal of what isn't there", "patch.applies", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "remove", "path": "/metadata/missing"}
		}))},
		{"invalid label", "patch.valid", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"team": "not valid!"}}
		}))},
		{"status", "patch.status", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/status", "value": map[string]any{"phase": "Failed"}}
		}))},
		{"uid", "patch.uid", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/uid", "value": "1"}
		}))},
		{"managed fields", "patch.managedFields", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/managedFields", "value": []any{}}
		}))},
		{"name", "patch.identity", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/name", "value": "other"}
		}))},
		{"drops what it doesn't know", "patch.keepsUnknownFields", decided(func(e *exchange) {
			addLabel(e)
			if e.object()["futureField"] != nil && len(e.ops) > 0 {
				e.ops = append(e.ops, map[string]any{"op": "remove", "path": "/futureField"})
			}
		})},
		{"drops what it doesn't know of containers", "patch.keepsUnknownFields", decided(func(e *exchange) {
			addLabel(e)
			containers, _ := at(e.object(), "spec", "containers").([]any)
			if len(containers) > 0 && e.request["subResource"] == nil {
				known := []any{}
				for _, c := range containers {
					known = append(known, map[string]any{"name": at(c, "name"), "image": at(c, "image")})
				}
				e.ops = append(e.ops, map[string]any{"op": "replace", "path": "/spec/containers", "value": known})
			}
		})},
		{"numbers of the spec as doubles", "patch.keepsNumbers", decided(func(e *exchange) {
			addLabel(e)
			if number, is := at(e.object(), "spec", "futureField").(json.Number); is {
				double, _ := number.Float64()
				e.ops = append(e.ops, map[string]any{"op": "replace", "path": "/spec/futureField", "value": int64(double)})
			}
		})},
		{"numbers as doubles", "patch.keepsNumbers", decided(func(e *exchange) {
			addLabel(e)
			if number, is := e.object()["futureField"].(json.Number); is {
				double, _ := number.Float64()
				e.ops = append(e.ops, map[string]any{"op": "replace", "path": "/futureField", "value": int64(double)})
			}
		})},
		{"appends again", "idempotent.patch", decided(addOp(func(e *exchange) map[string]any {
			finalizers, _ := at(e.object(), "metadata", "finalizers").([]any)
			return map[string]any{"op": "add", "path": "/metadata/finalizers", "value": append(finalizers, fmt.Sprintf("example.com/%d", len(finalizers)))}
		}))},
		{"denies its own output", "idempotent.accepted", decided(func(e *exchange) {
			addLabel(e)
			if at(e.object(), "metadata", "labels", "team") != nil {
				e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(403, "team is set already")}
			}
		})},
		{"random value", "deterministic", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"team": fmt.Sprint("a", rand.Int())}}
		}))},
		{"time in seconds", "deterministic", decided(addOp(func(*exchange) map[string]any {
			return map[string]any{"op": "add", "path": "/metadata/annotations", "value": map[string]any{"at": time.Now().UTC().Format(time.RFC3339)}}
		}))},
		{"every third request", "orderIndependent", decided(func(e *exchange) {
			addLabel(e)
			if sequence.Add(1)%3 == 0 {
				e.response = map[string]any{"uid": e.request["uid"], "allowed": false, "status": denial(403, "the quota is used up")}
				e.ops = nil
			}
		})},
		{"shared state", "load.concurrent", func() http.Handler {
			var uid atomic.Value
			meeting := make(chan struct{})
			return decided(func(e *exchange) {
				uid.Store(e.request["uid"])
				addLabel(e)
				select { // another request stores its uid at this point
				case meeting <- struct{}{}:
				case <-meeting:
				case <-time.After(time.Second): // no other request comes
				}
				e.response["uid"] = uid.Load()
			})()
		}},
		{"shared patch", "load.concurrent", sharedPatch},
		{"limit of 1 MB", "load.large", before(func(w http.ResponseWriter, r *http.Request) bool {
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			return true
		})},
		{"limit of 2 MB", "load.largeUpdate", before(func(w http.ResponseWriter, r *http.Request) bool {
			r.Body = http.MaxBytesReader(w, r.Body, 2<<20)
			return true
		})},
		{"one read", "load.slowClient", before(func(_ http.ResponseWriter, r *http.Request) bool {
			piece := make([]byte, 1<<20)
			n, _ := r.Body.Read(piece)
			r.Body = io.NopCloser(bytes.NewReader(piece[:n]))
			return true
		})},
		{"one at a time", "load.slowOthers", func() http.Handler {
			var mu sync.Mutex
			next := good()
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				next.ServeHTTP(w, r)
			})
		}},
		{"a connection for each call", "load.keepAlive", before(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Connection", "close")
			return true
		})},
		{"slow", "latency.typical", decided(func(e *exchange) {
			addLabel(e)
			time.Sleep(150 * time.Millisecond) //nolint:forbidigo // this handler is slow on purpose
		})},
		{"slower than the timeout", "latency.timeout", func() http.Handler {
			var mu sync.Mutex
			repeated := map[string]int{}
			return decided(func(e *exchange) {
				addLabel(e)
				input := fmt.Sprint(e.request["operation"], e.request["resource"], e.request["namespace"], e.request["name"])
				mu.Lock()
				repeated[input]++
				slow := repeated[input] > 2 // the case begins with a call of each input, and then repeats one of them
				mu.Unlock()
				if slow {
					time.Sleep(3200 * time.Millisecond) //nolint:forbidigo // this handler is slow on purpose
				}
			})()
		}},
		{"allows what isn't JSON", "badInput.noJSON", func() http.Handler {
			next := good()
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if !json.Valid(body) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"","allowed":true}}`)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
			})
		}},
		{"no answer to what isn't JSON", "badInput.noJSON", before(func(_ http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			if len(body) > 0 && !json.Valid(body) {
				<-r.Context().Done()
				return false
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			return true
		})},
		{"panic without a request", "badInput.noRequest", func() http.Handler {
			h := good()
			h.read = func(e *exchange) error {
				_ = json.Unmarshal(e.raw, &e.review)
				_ = e.review["request"].(map[string]any)["uid"]
				return readReview(e)
			}
			return h
		}},
		{"500 for an empty body", "badInput.empty", before(func(w http.ResponseWriter, r *http.Request) bool {
			if r.ContentLength == 0 {
				http.Error(w, "internal error", http.StatusInternalServerError)
				return false
			}
			return true
		})},
		{"never again after bad input", "badInput.truncated", func() http.Handler {
			var broken atomic.Bool
			next := good()
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if len(body) > 0 && !json.Valid(body) {
					broken.Store(true)
				}
				if broken.Load() {
					http.Error(w, "broken", http.StatusInternalServerError)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
			})
		}},
		{"panic at a null object", "badInput.objectNull", func() http.Handler {
			return decided(func(e *exchange) {
				if e.request["operation"] == "CREATE" {
					_ = e.request["object"].(map[string]any)["kind"]
				}
				addLabel(e)
			})()
		}},
		{"panic at odd labels", "badInput.labelsType", func() http.Handler {
			h := good()
			h.read = func(e *exchange) error {
				_ = json.Unmarshal(e.raw, &e.review)
				if labels := at(e.review, "request", "object", "metadata", "labels"); labels != nil {
					_ = labels.(map[string]any)["team"]
				}
				return readReview(e)
			}
			return h
		}},
		{"answers a GET", "badInput.method", func() http.Handler {
			next := good()
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = io.WriteString(w, "ok")
					return
				}
				next.ServeHTTP(w, r)
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			suite := served(t, tc.handler(), of(tc.name))
			for _, c := range webhooksuite.Cases() {
				if c.ID != tc.by {
					continue
				}
				findings, err := c.Run(context.Background(), suite)
				if err != nil || len(findings) == 0 {
					t.Fatalf("%s finds nothing: %v", c.ID, err)
				}
				for _, f := range findings {
					if f.Sent == "" || f.Seen == "" || f.Advice == "" || f.Level == "" {
						t.Errorf("%s: a finding lacks what a reader needs: %+v", c.ID, f)
					}
				}
				return
			}
			t.Fatalf("no case %s", tc.by)
		})
	}
}

// sharedPatch returns a handler that keeps the value of its patch in a variable that all calls share. The uid of each
// answer is right.
func sharedPatch() http.Handler {
	var shared atomic.Value
	arrived := make(chan struct{})
	return decided(addOp(func(e *exchange) map[string]any {
		shared.Store(fmt.Sprint(e.request["operation"], "-", e.object()["kind"]))
		select { // the next call overwrites the variable, if it comes soon
		case arrived <- struct{}{}:
		case <-arrived:
		case <-time.After(20 * time.Millisecond):
		}
		return map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"team": shared.Load()}}
	}))()
}

// http1Only is a handler whose server doesn't offer HTTP/2.
type http1Only struct{ http.Handler }

// served returns a suite for a handler, with the inputs of testdata and a configuration without faults.
func served(t *testing.T, handler http.Handler, changes ...func(*webhooksuite.Hook)) *webhooksuite.Suite {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	_, old := handler.(http1Only)
	server.EnableHTTP2 = !old
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	hook := configured(t, "")
	hook.Endpoint = webhooksuite.Endpoint{URL: server.URL + "/", Because: "the certificate is that of the test"}
	for _, change := range changes {
		change(&hook)
	}
	suite := &webhooksuite.Suite{Hooks: []webhooksuite.Hook{hook}, Inputs: inputs(t), Judge: labels{}}
	t.Cleanup(suite.Close)
	return suite
}

// of returns a function that changes the configuration of a webhook for one row of TestWrongHandlers or
// TestRightHandlers. The argument is the name of the row. Most rows need no change.
func of(name string) func(*webhooksuite.Hook) {
	return func(h *webhooksuite.Hook) {
		switch name {
		case "slower than the timeout", "one at a time":
			short := int32(3)
			h.Entry.TimeoutSeconds = &short
		case "v1beta1 alone":
			h.Entry.AdmissionReviewVersions = []string{"v1beta1"}
		case "patch of a validating webhook":
			h.Kind = webhooksuite.Validating
		}
	}
}
