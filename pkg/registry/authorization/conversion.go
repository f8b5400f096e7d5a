package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert the reviews that name a user. In v1beta1, the field with the user's groups is called "group".
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Renamed(func(in *authorizationv1beta1.SubjectAccessReview, out *authorizationv1.SubjectAccessReview) error {
			out.Spec.Groups = in.Spec.Groups
			return nil
		}),
		conversion.Renamed(func(in *authorizationv1.SubjectAccessReview, out *authorizationv1beta1.SubjectAccessReview) error {
			out.Spec.Groups = in.Spec.Groups
			return nil
		}),
		conversion.Renamed(func(in *authorizationv1beta1.LocalSubjectAccessReview, out *authorizationv1.LocalSubjectAccessReview) error {
			out.Spec.Groups = in.Spec.Groups
			return nil
		}),
		conversion.Renamed(func(in *authorizationv1.LocalSubjectAccessReview, out *authorizationv1beta1.LocalSubjectAccessReview) error {
			out.Spec.Groups = in.Spec.Groups
			return nil
		}),
	}
}
