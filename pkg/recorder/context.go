package recorder

import (
	"context"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Scope is a recording with its current pass through the admission chain and its current call of a plugin (Step). The context of a
// request carries the scope to the code that calls webhooks and evaluates policies.
type Scope struct {
	*Recording
	// Pass is nil outside of the admission chain. Step is nil outside of a call of a plugin.
	Pass *Pass
	Step *trace.Step
}

type scopeKey struct{}

// Within returns a context that carries the scope.
func Within(ctx context.Context, scope *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// From returns the scope that the context carries. It returns nil if the context's request isn't recorded.
func From(ctx context.Context) *Scope {
	scope, _ := ctx.Value(scopeKey{}).(*Scope)
	return scope
}
