package customresources

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAge checks the time at which a new definition was established. In the informer of a server that uses an etcd
// alone, the time is older than in the etcd. In the informer of a server with peers, it is the time in the etcd.
func TestAge(t *testing.T) {
	t.Parallel()
	latest := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	for _, test := range []struct {
		name, reason string
		condition    apiextensionsv1.CustomResourceDefinitionConditionType
		since        time.Duration
		alone        bool
		want         time.Duration
	}{
		{"new", "there is no other server that needs the definition", apiextensionsv1.Established, time.Second, true, -600},
		{"new, with others", "other servers may not have received the definition", apiextensionsv1.Established,
			time.Second, false, time.Second},
		{"old", "the condition is older than the delay", apiextensionsv1.Established, -time.Hour, true, -time.Hour},
		{"another condition", "the delay depends only on the condition Established", apiextensionsv1.NamesAccepted,
			time.Second, true, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			crd := &apiextensionsv1.CustomResourceDefinition{}
			crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: test.condition, LastTransitionTime: metav1.NewTime(latest.Add(test.since))}}
			age(crd, latest, func() bool { return test.alone })
			if got := crd.Status.Conditions[0].LastTransitionTime.Sub(latest); got != test.want {
				t.Errorf("%s: want it %v from the latest time, got %v", test.reason, test.want, got)
			}
		})
	}
}
