package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// maxBody limits the size of a request's body. The largest bodies are manifests.
const maxBody = 64 << 20

var errNotFound = errors.New("there is no such operation: GET /v1/openapi.json describes them")

// answer returns the body of a successful response, which is nil for none.
type answer func(r *http.Request) (any, error)

// handler returns the handler of all operations.
func (h *host) handler() http.Handler {
	answers := map[string]answer{
		"GET /v1":                        h.describe,
		"PUT /v1/objects/{sha256}":       h.keepObject,
		"POST /v1/servers":               h.startServer,
		"GET /v1/servers":                h.list,
		"GET /v1/servers/{id}":           h.of((*hosted).get),
		"DELETE /v1/servers/{id}":        h.of(func(s *hosted, _ *http.Request) (any, error) { return nil, h.stop(s) }),
		"POST /v1/servers/{id}/users":    h.of((*hosted).addUser),
		"POST /v1/servers/{id}/reach":    h.of((*hosted).reach),
		"POST /v1/servers/{id}/reset":    h.of((*hosted).reset),
		"PUT /v1/servers/{id}/kept":      h.of((*hosted).keep),
		"PUT /v1/servers/{id}/recording": h.of((*hosted).record),

		"DELETE /v1/servers/{id}/audit/{number}":             h.of((*hosted).acknowledge),
		"POST /v1/servers/{id}/certificates":                 h.of((*hosted).issue),
		"POST /v1/servers/{id}/manifests":                    h.of((*hosted).apply),
		"POST /v1/servers/{id}/snapshots":                    h.of((*hosted).snapshot),
		"POST /v1/servers/{id}/snapshots/{snapshot}/restore": h.of((*hosted).restore),
		"DELETE /v1/servers/{id}/snapshots/{snapshot}":       h.of((*hosted).forget),
	}
	others := map[string]http.HandlerFunc{
		"GET /v1/openapi.json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(control.OpenAPI)
		},
		"GET /v1/servers/{id}/events": h.follow,

		"GET /v1/servers/{id}/requests":          h.passed("/debug/admission/requests"),
		"GET /v1/servers/{id}/why":               h.passed("/debug/admission/why"),
		"GET /v1/servers/{id}/faults":            h.passed("/miniapi/v1/faults"),
		"POST /v1/servers/{id}/faults":           h.passed("/miniapi/v1/faults"),
		"DELETE /v1/servers/{id}/faults":         h.passed("/miniapi/v1/faults"),
		"DELETE /v1/servers/{id}/faults/{fault}": h.passed("/miniapi/v1/faults/"),
		"POST /v1/servers/{id}/pods":             h.passed("/miniapi/v1/pods"),
	}
	mux := http.NewServeMux()
	for _, operation := range control.Operations {
		if answer, ok := answers[operation.Pattern()]; ok {
			mux.Handle(operation.Pattern(), answered(operation.Status, answer))
		} else {
			mux.Handle(operation.Pattern(), others[operation.Pattern()])
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			w = unrouted{w}
		}
		mux.ServeHTTP(w, r)
	})
}

// unrouted is the response to a request for which there is no operation. It has the status of the ServeMux, and an error
// as its body.
type unrouted struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (u unrouted) WriteHeader(status int) { fail(u.ResponseWriter, status, errNotFound) }

// Write implements http.ResponseWriter.
func (u unrouted) Write(text []byte) (int, error) { return len(text), nil }

// answered returns a handler that sends the result of an answer with a status.
func answered(status int, answer answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		body, err := answer(r)
		if err != nil {
			fail(w, statusOf(err), err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if body != nil {
			_ = json.NewEncoder(w).Encode(body) // an error means that the client has broken off
		}
	})
}

// statusError is an error with the status of the response.
type statusError struct {
	error
	status int
}

// Unwrap returns the error.
func (e statusError) Unwrap() error { return e.error }

// statusOf returns the status of a failed request: that of a statusError, or 422 for what the server refuses.
func statusOf(err error) int {
	if e := (statusError{}); errors.As(err, &e) {
		return e.status
	}
	return http.StatusUnprocessableEntity
}

func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(control.NewError(err)) // an error means that the client has broken off
}

// read decodes the body of a request. It refuses unknown fields, which would have no effect.
func read[T any](r *http.Request) (T, error) {
	var body T
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		return body, statusError{fmt.Errorf("the body of %s %s: %w", r.Method, r.URL.Path, err), http.StatusBadRequest}
	}
	return body, nil
}

func (h *host) describe(*http.Request) (any, error) {
	return control.Host{Protocol: control.Version, Version: h.version, PID: os.Getpid()}, nil
}

func (h *host) keepObject(r *http.Request) (any, error) {
	object, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(object)
	if got, want := hex.EncodeToString(sum[:]), r.PathValue("sha256"); got != want {
		return nil, statusError{fmt.Errorf("the sha256 of the body is %s, and the path has %s", got, want), http.StatusBadRequest}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.objects[hex.EncodeToString(sum[:])] == nil {
		h.objects[hex.EncodeToString(sum[:])] = &engine.Content{JSON: object}
	}
	return nil, nil
}

func (h *host) startServer(r *http.Request) (any, error) {
	o, err := read[control.Options](r)
	if err != nil {
		return nil, err
	}
	until := r.URL.Query().Get("wait")
	if o.Audit && until != "configured" {
		return nil, statusError{errors.New("audit: give wait=configured, and then follow the events: each request waits until its audit event is acknowledged"), http.StatusBadRequest}
	}
	s, err := h.start(o)
	if err != nil {
		return nil, err
	}
	started, err := s.wait(r.Context(), until)
	if err != nil {
		_ = h.stop(s) // err is the reason
		return nil, err
	}
	return started, nil
}

func (h *host) list(*http.Request) (any, error) {
	list := control.Servers{Servers: []control.Server{}}
	for _, s := range h.all() {
		list.Servers = append(list.Servers, s.state())
	}
	return list, nil
}

// find returns the server that a request names.
func (h *host) find(r *http.Request) (*hosted, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.servers[r.PathValue("id")]; s != nil {
		return s, nil
	}
	return nil, statusError{fmt.Errorf("the host has no server %q: GET /v1/servers lists them", r.PathValue("id")), http.StatusNotFound}
}

// of returns the answer of an operation of a server.
func (h *host) of(operation func(*hosted, *http.Request) (any, error)) answer {
	return func(r *http.Request) (any, error) {
		s, err := h.find(r)
		if err != nil {
			return nil, err
		}
		return operation(s, r)
	}
}

func (s *hosted) get(r *http.Request) (any, error) {
	return s.wait(r.Context(), r.URL.Query().Get("wait"))
}

// follow sends the events of a server.
func (h *host) follow(w http.ResponseWriter, r *http.Request) {
	s, err := h.find(r)
	if err != nil {
		fail(w, statusOf(err), err)
		return
	}
	end, err := s.events.begin()
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	defer end()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	control, encoder := http.NewResponseController(w), json.NewEncoder(w)
	for more := true; more; {
		_ = control.Flush() // an error means that the client has broken off, which ends the context
		events, next := s.events.take(r.Context(), r.URL.Query().Get("follow") != "false")
		for _, event := range events {
			_ = encoder.Encode(event)
		}
		more = next
	}
}

func (s *hosted) acknowledge(r *http.Request) (any, error) {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return nil, statusError{fmt.Errorf("audit event %q: must be the number of an event", r.PathValue("number")), http.StatusBadRequest}
	}
	s.events.acknowledge(number)
	return nil, nil
}

func (s *hosted) addUser(r *http.Request) (any, error) {
	user, err := read[control.User](r)
	if err == nil && user.Name == "" {
		err = statusError{errors.New("name: a user must have a name"), http.StatusBadRequest}
	}
	if err != nil {
		return nil, err
	}
	server, err := s.running()
	if err != nil {
		return nil, err
	}
	if s.fixture == nil {
		cert, key, err := server.User(user.Name, user.Groups)
		return control.Certificate{Cert: string(cert), Key: string(key)}, err
	}
	config := s.fixture.AddUser(user.Name, user.Groups...)
	kubeconfig, err := s.fixture.Kubeconfig(config)
	return control.Certificate{Cert: string(config.CertData), Key: string(config.KeyData), Kubeconfig: string(kubeconfig)}, err
}

func (s *hosted) issue(r *http.Request) (any, error) {
	request, err := read[control.CertificateRequest](r)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.configured:
	default:
		return nil, errNotReady
	}
	var ips []net.IP
	for i, text := range request.IPs {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, statusError{fmt.Errorf("ips[%d]: %q must be an IP address", i, text), http.StatusBadRequest}
		}
		ips = append(ips, ip)
	}
	cert, key, err := s.authority.ServingCertificate(request.Hosts, ips)
	return control.Certificate{Cert: string(cert), Key: string(key)}, err
}

func (s *hosted) reach(r *http.Request) (any, error) {
	request, err := read[control.Reach](r)
	if err != nil {
		return nil, err
	}
	server, err := s.running()
	if err != nil {
		return nil, err
	}
	return nil, server.Reach(r.Context(), request.Webhook, time.Duration(request.TimeoutMilliseconds)*time.Millisecond)
}

func (s *hosted) keep(r *http.Request) (any, error) {
	kept, err := read[control.Kept](r)
	if err != nil {
		return nil, err
	}
	server, err := s.running()
	if err != nil {
		return nil, err
	}
	return nil, server.Keep(r.Context(), kept.Objects)
}

func (s *hosted) reset(*http.Request) (any, error) {
	fixture, err := s.setUp()
	if err != nil {
		return nil, err
	}
	return nil, fixture.Reset()
}

func (s *hosted) record(r *http.Request) (any, error) {
	recording, err := read[control.Recording](r)
	if err == nil && recording.Folder == "" {
		err = statusError{errors.New("folder: must be the path of the folder for the golden files"), http.StatusBadRequest}
	}
	if err != nil {
		return nil, err
	}
	fixture, err := s.setUp()
	if err != nil {
		return nil, err
	}
	return nil, fixture.Record(recording.Folder)
}

func (s *hosted) apply(r *http.Request) (any, error) {
	request, err := read[control.Manifests](r)
	if err != nil {
		return nil, err
	}
	config, err := s.admin()
	if err != nil {
		return nil, err
	}
	var objects []manifests.Object
	if len(request.Paths) > 0 {
		if objects, err = manifests.Load(request.Paths...); err != nil {
			return nil, err
		}
	}
	if request.Text != "" {
		more, err := manifests.Reader{}.Decode("text", []byte(request.Text))
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	applied := control.Applied{Objects: len(objects)}
	applier := manifests.Applier{Config: config, Warn: func(object manifests.Object, text string) {
		applied.Warnings = append(applied.Warnings, fmt.Sprintf("%s: %s %s: %s", object.Source, object.GetKind(), object.GetName(), text))
	}}
	return applied, applier.Apply(r.Context(), objects)
}

func (s *hosted) snapshot(r *http.Request) (any, error) {
	server, err := s.running()
	if err != nil {
		return nil, err
	}
	snapshot, err := server.Snapshot(r.Context())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastSnapshot++
	id := strconv.Itoa(s.lastSnapshot)
	s.snapshots[id] = snapshot
	return control.Snapshot{ID: id}, nil
}

func (s *hosted) restore(r *http.Request) (any, error) {
	server, err := s.running()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	snapshot, known := s.snapshots[r.PathValue("snapshot")]
	s.mu.Unlock()
	if !known {
		return nil, statusError{fmt.Errorf("the server has no snapshot %q", r.PathValue("snapshot")), http.StatusNotFound}
	}
	return nil, server.Restore(r.Context(), snapshot)
}

func (s *hosted) forget(r *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.snapshots, r.PathValue("snapshot"))
	return nil, nil
}

// passed returns a handler that passes requests to a path of the API server, as its admin. A path that ends in a slash
// is completed with the name of a fault.
func (h *host) passed(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := h.find(r)
		if err != nil {
			fail(w, statusOf(err), err)
			return
		}
		proxy, err := s.proxy()
		if err != nil {
			fail(w, statusOf(err), err)
			return
		}
		r.URL.Path = path + r.PathValue("fault")
		proxy.ServeHTTP(w, r)
	}
}
