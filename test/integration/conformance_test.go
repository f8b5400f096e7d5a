package integration_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/conformancetest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The server keeps every promise of the conformance suite. docs/conformance.md lists these.
func TestConformance(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithAPIs("api/all", "api/legacy"))
	conformancetest.APIServer(t, trial.Options{Config: srv.Config(), Disposable: true, Patience: time.Millisecond}, conformance.Options{})
	list, err := srv.Client().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	ok(t, err)
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, trial.Prefix) {
			t.Errorf("the suite left the namespace %s", list.Items[i].Name)
		}
	}
}
