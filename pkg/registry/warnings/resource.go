package warnings

import (
	"context"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// ResourceSlice returns the warnings of a resource slice.
func ResourceSlice(_ context.Context, s, _ *resourcev1.ResourceSlice) []string {
	var l List
	if s.Spec.Driver != strings.ToLower(s.Spec.Driver) {
		l.At(SpecPath.Child("driver"), "driver names should be lowercase; %q contains uppercase characters", s.Spec.Driver)
	}
	return l
}
