package admissiontrace

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// explainDenial extends the API error of a refused request: it adds which part of admission refused the request, and the
// command that shows more. It doesn't change an error that isn't an API error.
func explainDenial(request *trace.Request, refused *trace.Refusal, err error) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	explained := &apierrors.StatusError{ErrStatus: *status.ErrStatus.DeepCopy()}
	explained.ErrStatus.Message += fmt.Sprintf(" (refused by %s, see: miniapi trace --for %s)", where(request, refused), object(request))
	return explained
}

// where names the part of admission that refused the request. For a webhook, it adds the field of the configuration by
// which the webhook was called. For a mutating plugin, it adds the number of the round. Round 1 is the reinvocation of
// the mutating plugins.
func where(request *trace.Request, refused *trace.Refusal) string {
	parts := []string{"admission plugin " + refused.Plugin}
	switch {
	case refused.Webhook != nil:
		parts[0] = refused.Webhook.String()
		if field := rule(request, *refused.Webhook); field != "" {
			parts = append(parts, field)
		}
	case refused.Policy != nil:
		parts[0] = refused.Policy.String()
	}
	if refused.Phase == trace.Mutating {
		parts = append(parts, fmt.Sprintf("round %d", refused.Round))
	}
	return strings.Join(parts, ", ")
}

// rule returns the field of the webhook's configuration by which the webhook was called, such as one of the rules. It
// returns "" if no such field is recorded.
func rule(request *trace.Request, webhook trace.Reference) string {
	last := request.Admissions[len(request.Admissions)-1]
	for _, step := range last.Steps {
		for _, w := range step.Webhooks {
			if w.Reference == webhook {
				return w.Verdict.Field
			}
		}
	}
	return ""
}

// object returns the object of a request as an argument of "miniapi trace --for".
func object(request *trace.Request) string {
	last := request.Admissions[len(request.Admissions)-1]
	parts := []string{request.Resource.Resource}
	if request.Group != "" {
		parts[0] += "." + request.Group
	}
	if last.Namespace != "" && request.Resource.Resource != "namespaces" {
		parts = append(parts, last.Namespace)
	}
	if last.Name != "" {
		parts = append(parts, last.Name)
	}
	return strings.Join(parts, "/")
}
