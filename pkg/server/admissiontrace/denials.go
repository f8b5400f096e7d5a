package admissiontrace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// explainDenial extends the API error of a refused request: it adds which part of admission refused the request, and the
// command that shows more. It doesn't change an error that isn't an API error.
//
// kubectl prints only the causes of an error with the reason Invalid, which is the usual reason of policies. So the last
// cause, if there is one, is extended in the same way as the message.
func explainDenial(request *trace.Request, refused *trace.Refusal, err error) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	explanation := fmt.Sprintf(" (refused by %s, see: miniapi trace --for %s)", where(refused), object(request, refused))
	explained := &apierrors.StatusError{ErrStatus: *status.ErrStatus.DeepCopy()}
	explained.ErrStatus.Message += explanation
	if details := explained.ErrStatus.Details; details != nil && len(details.Causes) > 0 {
		details.Causes[len(details.Causes)-1].Message += explanation
	}
	return explained
}

// where names the part of admission that refused the request. For a webhook or a policy, it adds the fields that decided.
// Round 1 is the reinvocation of the mutating plugins.
func where(refused *trace.Refusal) string {
	by := "admission plugin " + refused.Plugin
	switch {
	case refused.Webhook != nil:
		by = refused.Webhook.String()
	case refused.Policy != nil:
		by = refused.Policy.String()
	}
	return strings.Join(append(append([]string{by}, refused.Fields...), fmt.Sprintf("round %d", refused.Round)), ", ")
}

// object returns the refused object of a request as an argument of "miniapi trace --for".
func object(request *trace.Request, refused *trace.Refusal) string {
	// Only a deletecollection has passes for several objects.
	pass := request.Admissions[slices.IndexFunc(request.Admissions, func(a *trace.Admission) bool { return a.Refused == refused })]
	parts := []string{request.Resource.Resource}
	if request.Group != "" {
		parts[0] += "." + request.Group
	}
	if pass.Namespace != "" && request.Resource.Resource != "namespaces" {
		parts = append(parts, pass.Namespace)
	}
	if pass.Name != "" {
		parts = append(parts, pass.Name)
	}
	return strings.Join(parts, "/")
}
