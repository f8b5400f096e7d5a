package customresources

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServeAtOnce checks the time at which a definition was established. In the informer of a server that uses an etcd
// alone, there is no such time. In the informer of a server with peers, it is the time in the etcd.
func TestServeAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		condition    apiextensionsv1.CustomResourceDefinitionConditionType
		age          time.Duration
		alone, keeps bool
	}{
		{"new", "there is no other server that needs the definition", apiextensionsv1.Established, 0, true, false},
		{"in the future", "the system's clock has been set back", apiextensionsv1.Established, -time.Hour, true, false},
		{"new, with others", "other servers may not have received the definition", apiextensionsv1.Established, 0, false, true},
		{"another condition", "the delay depends only on the condition Established", apiextensionsv1.NamesAccepted, 0, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			since := metav1.NewTime(time.Now().Add(-test.age))
			crd := &apiextensionsv1.CustomResourceDefinition{}
			crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: test.condition, LastTransitionTime: since}}
			serveAtOnce(crd, func() bool { return test.alone })
			got := crd.Status.Conditions[0].LastTransitionTime
			if kept := got.Equal(&since); kept != test.keeps || !kept && !got.IsZero() {
				t.Errorf("the time %v became %v, want it kept: %v: %s", since, got, test.keeps, test.reason)
			}
		})
	}
}
