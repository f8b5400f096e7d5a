package mutations_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log" //nolint:depguard // httputil.ReverseProxy takes a *log.Logger
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// mutation is a change by which a proxy breaks a promise of the API server: it changes requests, responses or reviews.
// Each of its functions may be nil.
type mutation struct {
	// name describes the wrong behaviour of the server. caughtBy has the identifiers of the cases that must fail,
	// separated by blanks. An identifier may be a glob.
	name, caughtBy string
	// request changes a client's request to the server. response changes the server's response to the client.
	request  func(*http.Request)
	response func(*http.Response)
	// also returns another request, or nil. The proxy sends the other request before the client's request.
	also func(*http.Request) *http.Request
	// review wraps the handler of the suite's webhooks, which the server calls.
	review func(http.Handler) http.Handler
	// unaudited makes the suite read an empty file in place of the good server's audit log.
	unaudited bool
}

// backend is a good server.
type backend struct {
	config   *rest.Config
	auditLog string
}

// goodServer starts a server with all APIs and an audit log.
func goodServer(t *testing.T) *backend {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: RequestResponse}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := miniapitest.Start(t, miniapitest.WithAPIs("api/all", "api/legacy", "apps/v1beta2=false"), miniapitest.WithFeatureGates(map[string]bool{"GenericWorkload": true}), inprocess.WithServerOptions(func(o *server.Options) {
		o.Audit.PolicyFile, o.Audit.LogOptions.Path = policy, log
	}))
	return &backend{srv.Config(), log}
}

// target returns the options with which the suite runs against a proxy in front of the good server. The proxy applies
// the mutation.
func (m *mutation) target(t *testing.T, good *backend) trial.Options {
	t.Helper()
	transport, err := rest.TransportFor(good.config)
	if err != nil {
		t.Fatal(err)
	}
	base, _, err := rest.DefaultServerUrlFor(good.config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // a client that ends a watch is no error of the test
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: base.Scheme, Host: base.Host})
			if m.request != nil {
				m.request(r.Out)
			}
			if m.also == nil {
				return
			}
			if another := m.also(r.Out); another != nil {
				if response, err := transport.RoundTrip(another); err == nil {
					_ = response.Body.Close()
				}
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if m.response != nil {
				m.response(r)
			}
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	// The good server has no controllers, so no run needs to wait for them.
	options := trial.Options{Config: &rest.Config{Host: server.URL}, Disposable: true, Patience: time.Millisecond, AuditLog: good.auditLog}
	if m.unaudited {
		options.AuditLog = os.DevNull
	}
	if m.review != nil {
		options.WrapWebhooks = func(next http.Handler) http.Handler {
			broken := m.review(next)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, trial.ReadyPath) {
					next.ServeHTTP(w, r) // these calls show whether a configuration is in effect, and must work
					return
				}
				broken.ServeHTTP(w, r)
			})
		}
	}
	return options
}

type object = map[string]any

// at returns the object at a path. If there is no object, it returns an empty object.
func at(o object, path ...string) object {
	for _, field := range path {
		o, _ = o[field].(object)
	}
	if o == nil {
		return object{}
	}
	return o
}

// edited returns JSON with a changed object. A text that isn't a JSON object stays unchanged.
func edited(text []byte, change func(object)) []byte {
	o := object{}
	if json.Unmarshal(text, &o) != nil {
		return text
	}
	change(o)
	text, _ = json.Marshal(o) // o was decoded from JSON, so it can be encoded
	return text
}

// editBody changes the object in the body of a request.
func editBody(r *http.Request, change func(object)) {
	if r.Body == nil {
		return
	}
	setRequestBody(r, edited(readAll(r.Body), change))
}

func setRequestBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// onBodies returns a mutation that changes the objects in requests with one of the verbs, if their path contains part.
func onBodies(verbs, part string, change func(object)) func(*http.Request) {
	return func(r *http.Request) {
		if strings.Contains(verbs, r.Method) && strings.Contains(r.URL.Path, part) {
			editBody(r, change)
		}
	}
}

// onConfigurations returns a mutation that changes the webhooks of a new webhook configuration. Unless the request is a
// dry run, the suite uses the first webhook to find out whether the configuration is in effect.
func onConfigurations(change func(webhooks []object)) func(*http.Request) {
	return onBodies("POST", "webhookconfigurations", func(o object) {
		list, _ := o["webhooks"].([]any)
		var webhooks []object
		for _, w := range list {
			if webhook, is := w.(object); is {
				webhooks = append(webhooks, webhook)
			}
		}
		change(webhooks)
	})
}

// onWebhooks returns a mutation that changes the webhooks of webhook configurations. It doesn't change webhooks by
// which the suite finds out whether a configuration is in effect.
func onWebhooks(change func(webhook object)) func(*http.Request) {
	return onConfigurations(func(webhooks []object) {
		for _, w := range webhooks {
			if name, _ := w["name"].(string); !strings.HasPrefix(name, "ready.") {
				change(w)
			}
		}
	})
}

// onRules returns a mutation that changes the rules of webhooks.
func onRules(change func(rule object)) func(*http.Request) {
	return onWebhooks(func(w object) {
		rules, _ := w["rules"].([]any)
		for _, rule := range rules {
			change(rule.(object))
		}
	})
}

// alsoPosts returns a mutation that adds a POST to the path for each POST of a client to the resource. The function
// create gets the client's object, and returns the object of the added request, or nil for no request.
func alsoPosts(resource, path string, create func(object) object) func(*http.Request) *http.Request {
	return func(r *http.Request) *http.Request {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/"+resource) || r.URL.Query().Has("dryRun") {
			return nil
		}
		var o object
		editBody(r, func(sent object) { o = create(sent) })
		if o == nil {
			return nil
		}
		another := r.Clone(r.Context())
		another.URL.Path = path
		body, _ := json.Marshal(o) // o consists of JSON's types
		setRequestBody(another, body)
		return another
	}
}

// items returns the objects of a list, or the object itself.
func items(o object) []object {
	list, is := o["items"].([]any)
	if !is {
		return []object{o}
	}
	var objects []object
	for _, item := range list {
		objects = append(objects, item.(object))
	}
	return objects
}

// answeredBy returns a mutation that changes the responses to requests with one of the verbs, if their path contains
// part.
func answeredBy(verbs, part string, change func(*http.Response)) func(*http.Response) {
	return func(r *http.Response) {
		if slices.Contains(strings.Fields(verbs), r.Request.Method) && strings.Contains(r.Request.URL.Path, part) {
			change(r)
		}
	}
}

// field returns a mutation that sets a field of webhooks.
func field(name string, value any) func(*http.Request) {
	return onWebhooks(func(w object) { w[name] = value })
}

// unsupported returns a mutation that removes a field of webhooks.
func unsupported(name string) func(*http.Request) {
	return onWebhooks(func(w object) { delete(w, name) })
}

// defaulted returns a mutation that sets a field of webhooks if it is missing.
func defaulted(name string, value any) func(*http.Request) {
	return onWebhooks(func(w object) {
		if w[name] == nil {
			w[name] = value
		}
	})
}

// ifIs returns a mutation that replaces one value of a field of webhooks by another.
func ifIs(name string, is, instead any) func(*http.Request) {
	return onWebhooks(func(w object) {
		if w[name] == is {
			w[name] = instead
		}
	})
}

// ruled returns a mutation that sets a field of webhooks' rules.
func ruled(name string, value any) func(*http.Request) {
	return onWebhooks(func(w object) {
		rules, _ := w["rules"].([]any)
		for _, rule := range rules {
			rule.(object)[name] = value
		}
	})
}

// onSpecs returns a mutation that changes the specs of objects of a resource. It doesn't change the objects by which
// the suite finds out whether a configuration is in effect.
func onSpecs(resource string, change func(spec object)) func(*http.Request) {
	return onBodies("POST", "/"+resource, func(o object) {
		if name, _ := at(o, "metadata")["name"].(string); !strings.HasSuffix(name, "-ready") {
			change(at(o, "spec"))
		}
	})
}

// query returns a mutation that changes the query parameters of requests with a verb.
func query(verb string, change func(url.Values)) func(*http.Request) {
	return func(r *http.Request) {
		if r.Method == verb {
			values := r.URL.Query()
			change(values)
			r.URL.RawQuery = values.Encode()
		}
	}
}

// onReviews returns a mutation that changes the request in reviews.
func onReviews(change func(request object)) func(http.Handler) http.Handler {
	return onBodiesOfReviews(func(review object) { change(at(review, "request")) })
}

func onBodiesOfReviews(change func(review object)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			editBody(r, change)
			next.ServeHTTP(w, r)
		})
	}
}

// without returns a mutation that sets a field of the request in reviews to null.
func without(name string) func(http.Handler) http.Handler {
	return onReviews(func(r object) { r[name] = nil })
}

// onResponses returns a mutation that changes the responses of webhooks. The function change also gets the request.
func onResponses(change func(request, response object)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := object{}
			editBody(r, func(review object) { request = at(review, "request") })
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.Code)
			_, _ = w.Write(edited(answer.Body.Bytes(), func(review object) { change(request, at(review, "response")) }))
		})
	}
}

// onAnswersOfWebhooks returns a mutation that changes whole answers of webhooks.
func onAnswersOfWebhooks(change func(*httptest.ResponseRecorder)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			change(answer)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
	}
}

// swallow returns a mutation that suppresses some calls of webhooks, and allows the requests of these calls. It
// suppresses a call if holds returns true for the request.
func swallow(holds func(request object) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			review := object{}
			editBody(r, func(o object) { review = o })
			request := at(review, "request")
			if !holds(request) {
				next.ServeHTTP(w, r)
				return
			}
			writeJSON(w, object{"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": object{"uid": request["uid"], "allowed": true}})
		})
	}
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // an error means that the server has closed the connection
}

// onAnswers returns a mutation that changes the objects in responses to requests with a verb.
func onAnswers(verb string, change func(object)) func(*http.Response) {
	return func(r *http.Response) {
		if r.Request.Method != verb || r.Request.URL.Query().Get("watch") != "" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			return
		}
		setBody(r, edited(readAll(r.Body), change))
	}
}

func setBody(r *http.Response, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// onEvents returns a mutation that changes the events of watches. If change returns nil, the event is dropped.
func onEvents(change func(object) object) func(*http.Response) {
	return onEventLists(func(event object) []object {
		if event = change(event); event == nil {
			return nil
		}
		return []object{event}
	})
}

// onEventLists returns a mutation that replaces each event of watches by others.
func onEventLists(change func(object) []object) func(*http.Response) {
	return func(r *http.Response) {
		if r.Request.URL.Query().Get("watch") == "" || r.StatusCode != http.StatusOK {
			return
		}
		reader, writer := io.Pipe()
		body := r.Body
		r.Body = reader
		go func() {
			defer body.Close()
			decoder, encoder := json.NewDecoder(body), json.NewEncoder(writer)
			for {
				event := object{}
				if err := decoder.Decode(&event); err != nil {
					_ = writer.CloseWithError(err)
					return
				}
				for _, replacement := range change(event) {
					if encoder.Encode(replacement) != nil {
						return
					}
				}
			}
		}()
	}
}

// warningHeaders returns a mutation that replaces the Warning headers of responses.
func warningHeaders(change func(code int, warnings []string) []string) func(*http.Response) {
	return func(r *http.Response) {
		warnings := r.Header.Values("Warning")
		r.Header.Del("Warning")
		for _, warning := range change(r.StatusCode, warnings) {
			r.Header.Add("Warning", warning)
		}
	}
}

// readAll reads a body to its end. If the body breaks off, the proxy also breaks off its own response.
func readAll(from io.Reader) []byte {
	body, err := io.ReadAll(from)
	if err != nil {
		panic(http.ErrAbortHandler) // net/http breaks the response off at this panic
	}
	return body
}

// twice is a mutation that makes each call of a webhook twice.
func twice(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := readAll(r.Body)
		next.ServeHTTP(httptest.NewRecorder(), withBody(r, body))
		next.ServeHTTP(w, withBody(r, body))
	})
}

// withBody returns a copy of a request with another body.
func withBody(r *http.Request, body []byte) *http.Request {
	clone := r.Clone(r.Context())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	return clone
}

// fixKind returns a handler that sets the kind AdmissionReview in each response of a webhook, even if the webhook
// returns another kind.
func fixKind(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		w.WriteHeader(answer.Code)
		_, _ = w.Write(edited(answer.Body.Bytes(), func(review object) { review["kind"] = "AdmissionReview" }))
	})
}

// name returns the name of an object, or "".
func name(o object) string {
	text, _ := at(o, "metadata")["name"].(string)
	return text
}

// converted converts the objects in a ConversionReview's request: it changes only the version.
func converted(request, response object) {
	objects, _ := request["objects"].([]any)
	for _, o := range objects {
		o.(object)["apiVersion"] = request["desiredAPIVersion"]
	}
	response["convertedObjects"] = objects
}

// bindsEach returns a mutation that creates a binding for each policy of a resource whose name ends with "-p".
func bindsEach(resource, kind string, spec object) func(*http.Request) *http.Request {
	path := "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "s"
	return alsoPosts(resource, path, func(policy object) object {
		if !strings.HasSuffix(name(policy), "-p") {
			return nil
		}
		bound := object{"policyName": name(policy)}
		maps.Copy(bound, spec)
		return object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": object{"name": name(policy)}, "spec": bound}
	})
}

// dropped returns a mutation that removes a parameter of the query.
func dropped(name string) func(url.Values) { return func(v url.Values) { v.Del(name) } }

// onServices returns a mutation that changes the service references of webhooks. It doesn't change references to the
// Service "way", by which the suite finds out whether the server can reach the suite's webhooks.
func onServices(change func(service object)) func(*http.Request) {
	return onWebhooks(func(w object) {
		if service, is := at(w, "clientConfig")["service"].(object); is && service["name"] != "way" {
			change(service)
		}
	})
}
