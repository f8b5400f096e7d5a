package authentication

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

func TestSelfSubjectReview(t *testing.T) {
	t.Parallel()
	ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "jane", Groups: []string{"g"}})
	question := &authenticationv1.SelfSubjectReview{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}}
	got, err := reviewSelf(ctx, question, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
		UserInfo: authenticationv1.UserInfo{Username: "jane", Groups: []string{"g"}}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
		t.Errorf("the answer has the user, and no metadata of the question except the time (-want +got):\n%s", diff)
	}
}
