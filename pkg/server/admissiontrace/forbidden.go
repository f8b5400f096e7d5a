package admissiontrace

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// writes are the verbs of requests that change objects.
var writes = []string{"create", "update", "patch", "delete", "deletecollection"}

// RecordForbidden returns an authorizer that decides as next does. While the recorder is on, the authorizer records the
// writes that next refuses. A refused write doesn't reach Trace.Handler, which records requests after their
// authorization.
func (t *Trace) RecordForbidden(next authorizer.Authorizer) authorizer.Authorizer {
	return forbidding{next, t}
}

// forbidding is the authorizer of RecordForbidden.
type forbidding struct {
	authorizer.Authorizer
	trace *Trace
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (f forbidding) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := f.Authorizer.Authorize(ctx, a)
	// If err isn't nil, the authorization filter responds with an internal error, not with Forbidden. The impersonation
	// filter also calls this method, with verbs that aren't in writes.
	if decision == authorizer.DecisionAllow || err != nil || !a.IsResourceRequest() || !slices.Contains(writes, a.GetVerb()) {
		return decision, reason, err
	}
	if info, ok := request.RequestInfoFrom(ctx); ok {
		if recording := f.trace.Recorder.Begin(described(ctx, info)); recording != nil {
			refused := errorOf(responsewriters.ForbiddenStatusError(a, reason))
			recording.Forbid(refused)
			recording.Finish()
		}
	}
	return decision, reason, err
}
