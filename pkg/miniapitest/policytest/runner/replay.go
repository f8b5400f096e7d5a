package runner

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"net"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// replayed is a webhook that answers reviews as recordings of equal reviews did.
type replayed struct {
	recorded []reviews.File
	http     *http.Server
	served   chan struct{}
}

// replay reads the recordings of a folder, and begins to answer at an address.
func replay(dir, address string, cert, key []byte) (*replayed, error) {
	r := &replayed{served: make(chan struct{})}
	var err error
	if r.recorded, err = reviews.Read(dir); err != nil {
		return nil, err
	}
	for i := range r.recorded {
		if r.recorded[i].Exchange, err = r.recorded[i].Normalise(); err != nil {
			return nil, fmt.Errorf("%s: %w", r.recorded[i].Path, err)
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	r.http = &http.Server{ //nolint:gosec // the server of the test is the only client
		Handler: r, ErrorLog: log.New(io.Discard, "", 0), // the server that calls the webhook reports the error
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}},
	}
	go func() {
		defer close(r.served)
		_ = r.http.ServeTLS(listener, "", "") // ServeTLS returns when stop is called
	}()
	return r, nil
}

func (r *replayed) stop() {
	_ = r.http.Close()
	<-r.served
}

// ServeHTTP implements http.Handler.
func (r *replayed) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Header.Get(engine.ReachHeader) == engine.ReachRequest {
		w.Header().Set(engine.ReachHeader, engine.ReachAnswer)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := r.answer(req.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // an error means that the server has given up
}

// answer returns the recorded answer to a review that equals a recorded one.
func (r *replayed) answer(path string, body []byte) ([]byte, error) {
	asked, err := reviews.Exchange{Request: body}.Normalise()
	if err != nil {
		return nil, err
	}
	nearest, least := "", []trace.Change(nil)
	for _, recorded := range r.recorded {
		if recorded.Path != "" && recorded.Exchange.Path != "" && recorded.Exchange.Path != path {
			continue
		}
		changes := trace.Diff(recorded.Request, asked.Request)
		if len(changes) == 0 {
			return addressed(recorded.Exchange, body)
		}
		if nearest == "" || len(changes) < len(least) {
			nearest, least = recorded.Name, changes
		}
	}
	if nearest == "" {
		return nil, fmt.Errorf("no review is recorded for the path %s", path)
	}
	return nil, fmt.Errorf("no recorded review equals this one; the nearest is %s, which differs in %d fields, such as %s", nearest, len(least), least[0])
}

// addressed returns the recorded answer with the uid of a review, and with its patch encoded again.
func addressed(recorded reviews.Exchange, body []byte) ([]byte, error) {
	if recorded.Response == nil {
		return nil, errors.New("the recorded review has no answer: " + recorded.Failure)
	}
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	var answer map[string]any
	if err := errors.Join(json.Unmarshal(body, &review), json.Unmarshal(recorded.Response, &answer)); err != nil {
		return nil, err
	}
	response, _ := answer["response"].(map[string]any)
	if response == nil {
		return nil, errors.New("the recorded answer has no response")
	}
	response["uid"] = review.Request.UID
	if patch, found := response["patch"]; found {
		plain, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		response["patch"] = base64.StdEncoding.EncodeToString(plain)
	}
	return json.Marshal(answer)
}
