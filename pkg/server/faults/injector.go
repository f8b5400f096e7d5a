package faults

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Config has the parts of the server that an Injector needs.
type Config struct {
	// Seed is the seed of the random choices: the requests that faults with Share select, and the random latencies.
	Seed uint64
	// Serializer encodes responses.
	Serializer runtime.NegotiatedSerializer
	// Namespaces is a client of the server itself. Its lists have the resource version of the last write of any object.
	Namespaces corev1.NamespaceInterface
	// Abort resets the connection of a request.
	Abort func(*http.Request)
	// Stopping ends when a stop of the server begins. Then requests no longer wait for the latency of a fault.
	Stopping context.Context
}

// Injector injects the faults of a server into requests and into calls of webhooks. It is safe for concurrent use.
type Injector struct {
	config Config
	rules  *ruleSet
}

// New returns an Injector without faults.
func New(config Config) *Injector {
	now := func(ctx context.Context) (uint64, error) { return revision(ctx, config.Namespaces) }
	return &Injector{config, &ruleSet{seed: config.Seed, now: now, stopping: config.Stopping}}
}

// InForce tells whether there are faults.
func (i *Injector) InForce() bool { return i.rules.current.Load() != nil }

// Endpoint returns the handler of Path, and of the paths of faults below it.
func (i *Injector) Endpoint() http.Handler { return &endpoint{i.rules, i.config.Serializer} }
