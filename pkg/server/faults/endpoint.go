package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Path serves the faults. Users need permission for this nonResourceURL. GET returns the faults in force as a
	// [List] in JSON. POST of a [File] in JSON or YAML adds faults, and returns the added faults. DELETE removes all
	// faults, and DELETE of Path/NAME removes the fault with the name.
	Path = "/miniapi/v1/faults"

	// fileBytes is the maximum size of the body of a POST in bytes.
	fileBytes = 1 << 20
)

// List is the answer to a request to Path that succeeds.
type List struct {
	Faults []State `json:"faults"`
}

func (f Fault) equal(other Fault) bool { return reflect.DeepEqual(f, other) }

func isOwnPath(path string) bool { return path == Path || strings.HasPrefix(path, Path+"/") }

// groupResource is the resource that API errors about faults name.
func groupResource() schema.GroupResource { return schema.GroupResource{Resource: "faults"} }

// endpoint serves Path, and the paths of faults below it.
type endpoint struct {
	rules      *ruleSet
	serializer runtime.NegotiatedSerializer
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	response, code, err := e.handle(w, req)
	if err != nil {
		fail(w, req, e.serializer, err)
		return
	}
	body, err := json.Marshal(response)
	if err != nil {
		fail(w, req, e.serializer, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}

func (e *endpoint) handle(w http.ResponseWriter, req *http.Request) (response any, code int, err error) {
	name := strings.Trim(strings.TrimPrefix(req.URL.Path, Path), "/")
	switch {
	case req.Method == http.MethodGet && name == "":
		return List{e.rules.states()}, http.StatusOK, nil
	case req.Method == http.MethodPost && name == "":
		faults, err := read(w, req)
		if err != nil {
			return nil, 0, err
		}
		added, err := e.rules.add(req.Context(), faults, fromRequest)
		return List{added}, http.StatusCreated, err
	case req.Method == http.MethodDelete:
		if !e.rules.remove(name) && name != "" {
			return nil, 0, apierrors.NewNotFound(groupResource(), name)
		}
		return List{e.rules.states()}, http.StatusOK, nil
	}
	w.Header().Set("Allow", "GET, POST, DELETE")
	return nil, 0, apierrors.NewMethodNotSupported(groupResource(), req.Method)
}

// read returns the faults in the body of a request.
func read(w http.ResponseWriter, req *http.Request) ([]Fault, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, fileBytes))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", large.Limit))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, apierrors.NewBadRequest("the body has no faults: must be faults in YAML or JSON, under the key faults")
	}
	faults, err := Parse(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return faults, nil
}
