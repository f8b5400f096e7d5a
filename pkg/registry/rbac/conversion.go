package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert subjects. In v1alpha1, a subject has the field apiVersion, and the user "*" stands for every
// authenticated user. In later versions, a subject has the field apiGroup.
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Renamed(func(in *rbacv1alpha1.ClusterRoleBinding, out *rbacv1.ClusterRoleBinding) error {
			subjectsFromV1alpha1(in.Subjects, out.Subjects)
			return nil
		}),
		conversion.Renamed(func(in *rbacv1.ClusterRoleBinding, out *rbacv1alpha1.ClusterRoleBinding) error {
			subjectsToV1alpha1(in.Subjects, out.Subjects)
			return nil
		}),
		conversion.Renamed(func(in *rbacv1alpha1.RoleBinding, out *rbacv1.RoleBinding) error {
			subjectsFromV1alpha1(in.Subjects, out.Subjects)
			return nil
		}),
		conversion.Renamed(func(in *rbacv1.RoleBinding, out *rbacv1alpha1.RoleBinding) error {
			subjectsToV1alpha1(in.Subjects, out.Subjects)
			return nil
		}),
	}
}

func subjectsFromV1alpha1(in []rbacv1alpha1.Subject, out []rbacv1.Subject) {
	for i, s := range in {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			out[i].APIGroup = ""
		case rbacv1.UserKind, rbacv1.GroupKind:
			out[i].APIGroup = rbacv1.GroupName
		default:
			if gv, err := schema.ParseGroupVersion(s.APIVersion); err == nil {
				out[i].APIGroup = gv.Group
			}
		}
		if s.Kind == rbacv1.UserKind && s.Name == "*" {
			out[i].Kind, out[i].Name = rbacv1.GroupKind, user.AllAuthenticated
		}
	}
}

func subjectsToV1alpha1(in []rbacv1.Subject, out []rbacv1alpha1.Subject) {
	for i, s := range in {
		switch {
		case s.Kind == rbacv1.ServiceAccountKind && s.APIGroup == "":
			out[i].APIVersion = "v1"
		case (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) && s.APIGroup == rbacv1.GroupName:
			out[i].APIVersion = rbacv1alpha1.SchemeGroupVersion.String()
		default:
			out[i].APIVersion = schema.GroupVersion{Group: s.APIGroup}.String()
		}
	}
}
