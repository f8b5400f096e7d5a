package review

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// webhookName is the name of the webhook in its configuration.
const webhookName = "review.miniapi.dev"

// listening is the running webhook.
type listening struct {
	webhook Webhook
	ca      []byte
	url     string
	server  *http.Server
	served  chan struct{}

	// concerns tells whether a review belongs to the request. Other reviews aren't kept.
	concerns func(*admissionv1.AdmissionRequest) bool

	exchanges *condition.Variable[exchanges]
}

// exchanges are the reviews of the request, with their responses.
type exchanges struct {
	kept []Exchange
	// names has the names of the objects of these reviews. open is the number of reviews that have no response yet.
	names map[string]bool
	open  int
}

// listen starts the webhook on a free port, and makes an authority for the webhook's certificate. The webhook allows
// reviews that don't concern the request, and doesn't keep them.
func listen(webhook Webhook, concerns func(*admissionv1.AdmissionRequest) bool) (*listening, error) {
	authority, err := pki.NewAuthority("review")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Serving(pki.Names{DNS: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &listening{
		webhook: webhook, ca: authority.CA(), url: "https://" + listener.Addr().String() + "/", served: make(chan struct{}),
		concerns: concerns, exchanges: condition.New(exchanges{names: map[string]bool{}}),
	}
	l.server = &http.Server{
		Handler:           l,
		ReadHeaderTimeout: webhook.Timeout,
		ErrorLog:          log.New(io.Discard, "", 0), // the API server's response has the error
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
	}
	go func() {
		defer close(l.served)
		_ = l.server.ServeTLS(listener, "", "") // ServeTLS returns when close is called
	}()
	return l, nil
}

func (l *listening) close() {
	_ = l.server.Close()
	<-l.served
}

// ServeHTTP implements http.Handler.
func (l *listening) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	review, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var asked admissionv1.AdmissionReview
	if err := json.Unmarshal(review, &asked); err != nil || asked.Request == nil {
		http.Error(w, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	answer, keep := l.webhook.Answer, func(Exchange) {}
	if l.concerns(asked.Request) {
		keep = l.keep(nameOf(asked.Request))
	} else {
		answer = nil
	}
	if answer == nil {
		answer = allow
	}
	begun := time.Now()
	code, response, err := answer(req.Context(), req.URL.RawQuery, review)
	if err != nil {
		code = http.StatusBadGateway
	}
	keep(Exchange{Review: review, Response: response, Code: code, Unreachable: err, Took: time.Since(begun)})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(response)
}

// keep returns a function that stores the first review of the object with the name. The function ignores later reviews,
// which come from a second call of mutating webhooks.
func (l *listening) keep(name string) func(Exchange) {
	l.exchanges.Update(func(all *exchanges) { all.open++ })
	return func(e Exchange) {
		l.exchanges.Update(func(all *exchanges) {
			all.open--
			if !all.names[name] {
				all.names[name] = true
				all.kept = append(all.kept, e)
			}
		})
	}
}

// all returns the stored reviews, in the order of the responses. The server may have stopped waiting for a response, so
// all waits until the calls of Webhook.Answer have ended, for Webhook.Timeout at most.
func (l *listening) all(ctx context.Context) ([]Exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, l.webhook.Timeout)
	defer cancel()
	if err := l.exchanges.Wait(ctx, func(all exchanges) bool { return all.open == 0 }); err != nil {
		return nil, fmt.Errorf("waiting at most %s for the responses of the webhook: %w", l.webhook.Timeout, err)
	}
	var kept []Exchange
	l.exchanges.Read(func(all exchanges) { kept = slices.Clone(all.kept) })
	return kept, nil
}

// allow is a Webhook.Answer that allows each request, for reviews of any version.
func allow(_ context.Context, _ string, review []byte) (int, []byte, error) {
	asked := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(review, &asked); err != nil || asked.Request == nil {
		return http.StatusBadRequest, []byte("no AdmissionReview"), nil
	}
	asked.Response, asked.Request = &admissionv1.AdmissionResponse{UID: asked.Request.UID, Allowed: true}, nil
	body, err := json.Marshal(asked)
	return http.StatusOK, body, err
}

// isDenial tells whether an error says that the webhook's response has refused the request.
func isDenial(err error) bool {
	return strings.Contains(err.Error(), fmt.Sprintf("admission webhook %q denied the request", webhookName))
}

// isOfWebhook tells whether an error names the webhook.
func isOfWebhook(err error) bool { return strings.Contains(err.Error(), webhookName) }
