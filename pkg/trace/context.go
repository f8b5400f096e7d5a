package trace

import "context"

// Scope is a recording with its current pass (Admission) and its current call of a plugin (Step). The context of a
// request carries the scope to the code that calls webhooks and evaluates policies.
type Scope struct {
	*Recording
	// Admission is nil outside of the admission chain. Step is nil outside of a call of a plugin.
	Admission *Admission
	Step      *Step
}

// Objects returns the versions that the object has had so far in the scope's pass through the admission chain (see
// Admission.Objects).
func (s *Scope) Objects() []Object {
	var objects []Object
	s.Update(func(*Request) { objects = s.Admission.Objects() })
	return objects
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
