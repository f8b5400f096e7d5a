package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const (
	// pause is the time that a client waits after a request without an answer, because the server may be down.
	pause = 50 * time.Millisecond
	// connectTimeout limits the time until a connection is made.
	connectTimeout = 2 * time.Second
)

// client makes the requests of one client of the run, and has its random choices. Clients share no connection.
type client struct {
	run    *run
	id     int
	rest   rest.Interface
	random *rand.Rand
}

func (r *run) newClient(id int) (*client, error) {
	config := rest.CopyConfig(r.options.Configs[id%len(r.options.Configs)])
	config.QPS = -1
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: connectTimeout}).DialContext
	}
	// A configuration with a function of its own gets a transport of its own.
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, address)
	}
	c, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration of %s: %w", config.Host, err)
	}
	return &client{run: r, id: id, rest: c, random: rand.New(rand.NewPCG(r.options.Seed, uint64(id)))}, nil
}

// request is a request for a resource in the namespace of the run.
type request struct {
	method            string
	kind              *kind
	name, subresource string
	query             map[string]string
	contentType       string
	body              any
}

// build returns a request that is sent once, because a repeated write would be another operation.
func (c *client) build(r *request) *rest.Request {
	prefix := "/apis/"
	if r.kind.resource.Group == "" {
		prefix = "/api/"
	}
	built := c.rest.Verb(r.method).AbsPath(prefix+r.kind.resource.GroupVersion()).Namespace(c.run.namespace).Resource(r.kind.resource.Name).
		SetHeader("Accept", "application/json").MaxRetries(0)
	if r.name != "" {
		built = built.Name(r.name)
	}
	if r.subresource != "" {
		built = built.SubResource(r.subresource)
	}
	for key, value := range r.query {
		built = built.Param(key, value)
	}
	if r.body != nil {
		body, _ := json.Marshal(r.body) // the types of bodies can be encoded
		contentType := r.contentType
		if contentType == "" {
			contentType = "application/json"
		}
		built = built.SetHeader("Content-Type", contentType).Body(body)
	}
	return built
}

// answer is the answer to a request, or what is known without one.
type answer struct {
	call, returned time.Duration
	outcome        Outcome
	reason         string
	body           []byte
}

func (c *client) do(ctx context.Context, r *request) answer {
	ctx, cancel := context.WithTimeout(ctx, c.run.options.RequestTimeout)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { sent.Store(true) },
		WroteHeaders: func() { sent.Store(true) },
	})
	built := c.build(r).Timeout(c.run.options.RequestTimeout) // the server doesn't go on after this time either
	a := answer{call: c.run.now()}
	body, err := bodyOf(ctx, built)
	a.returned, a.body = c.run.now(), body
	a.outcome, a.reason = outcomeOf(err, r.name, r.kind.resource.Name)
	if a.outcome == Unknown && !sent.Load() {
		a.outcome = Unsent
	}
	return a
}

// bodyOf returns the body of the answer to a request. The method Do of a request would log interrupted answers.
func bodyOf(ctx context.Context, r *rest.Request) ([]byte, error) {
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// none reports whether there was no answer.
func (o Outcome) none() bool { return o == Unknown || o == Unsent }

// outcomeOf returns the outcome of a request for an object or a collection.
func outcomeOf(err error, name, resource string) (Outcome, string) {
	if err == nil {
		return OK, ""
	}
	status, answered := err.(apierrors.APIStatus)
	switch {
	case !answered || status.Status().Code >= http.StatusInternalServerError || status.Status().Code < http.StatusBadRequest:
		return Unknown, err.Error()
	case apierrors.IsNotFound(err) && about(status.Status(), name, resource):
		return NotFound, ""
	case apierrors.IsAlreadyExists(err):
		return Exists, ""
	case apierrors.IsConflict(err):
		return Conflict, ""
	case status.Status().Code == http.StatusGone:
		return Expired, ""
	}
	return Refused, err.Error()
}

// about reports whether a status is about an object. A server that starts may answer 404 about a path.
func about(s metav1.Status, name, resource string) bool {
	return s.Details != nil && s.Details.Name == name && s.Details.Kind == resource
}

// failed records that an answer with success can't be read.
func (a *answer) failed(err error) {
	a.outcome, a.reason = Unknown, fmt.Sprintf("the answer can't be read: %v", err)
}

// stream sends a request for a watch, and returns its response.
func (c *client) stream(ctx context.Context, r *request) (io.ReadCloser, error) {
	return c.build(r).Stream(ctx)
}

// wait waits for a moment after a request without an answer.
func (c *client) wait(ctx context.Context) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// chance is true with a probability.
func (c *client) chance(probability float64) bool { return c.random.Float64() < probability }

// weighed returns a random index of a table, whose rows have weights.
func weighed[T any](random *rand.Rand, table []T, weight func(*T) int) *T {
	sum := 0
	for i := range table {
		sum += weight(&table[i])
	}
	left := random.IntN(sum)
	for i := range table {
		if left -= weight(&table[i]); left < 0 {
			return &table[i]
		}
	}
	return nil
}
