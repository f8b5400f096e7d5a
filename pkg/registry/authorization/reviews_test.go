package authorization

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestSubjectAccessReview(t *testing.T) {
	t.Parallel()
	registrytest.WantErrors(t, "a question is about someone and something",
		validateSubjectAccessReview(&authorizationv1.SubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}),
		"spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
		`spec.user: Invalid value: "": at least one of user or group must be specified`,
		`metadata: Invalid value: {"labels":{"a":"b"}}: must be empty`,
	)
}
