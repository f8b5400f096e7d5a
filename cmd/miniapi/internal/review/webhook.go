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
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"

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

	mu               sync.Mutex
	review, response []byte
	err              error
}

// listen starts the webhook on a free port, with a certificate of an authority that it makes.
func listen(webhook Webhook) (*listening, error) {
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
	l := &listening{webhook: webhook, ca: authority.CA(), url: "https://" + listener.Addr().String() + "/", served: make(chan struct{})}
	l.server = &http.Server{
		Handler:   l,
		ErrorLog:  log.New(io.Discard, "", 0), // the server's response has the error
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
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
	answer := l.webhook.Answer
	if answer == nil {
		answer = allow
	}
	code, response, err := answer(req.Context(), review)
	if err != nil {
		code = http.StatusBadGateway
	}
	l.keep(review, response, err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(response)
}

// keep stores the first review. It ignores later ones, which belong to a second call of mutating webhooks or to later
// requests.
func (l *listening) keep(review, response []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.review == nil {
		l.review, l.response, l.err = review, response, err
	}
}

// exchange returns the review, the response and the error of the webhook's answer. All are nil if the webhook wasn't
// called.
func (l *listening) exchange() (review, response []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.review, l.response, l.err
}

// allow is an answer that allows the request, for reviews of any version.
func allow(_ context.Context, review []byte) (int, []byte, error) {
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
