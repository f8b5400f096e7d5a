package customresources

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestInstalledIsTaken checks that take returns an installed definition only once, and only for the revision at which
// the definition was stored. The informer doesn't decode a definition that it gets from take.
func TestInstalledIsTaken(t *testing.T) {
	t.Parallel()
	crd, _, err := preparedGears(t).copy(metav1.Now())
	if err != nil {
		t.Fatal(err)
	}
	crd.ResourceVersion = "7"
	var i installed
	i.add(crd)
	if got := i.take("gears.example.com", 8); got != nil {
		t.Errorf("the definition stands for a later write: %v", got)
	}
	i.add(crd)
	if got := i.take("gears.example.com", 7); got != crd {
		t.Errorf("got %v, want what was installed", got)
	}
	if got := i.take("gears.example.com", 7); got != nil {
		t.Error("the definition is kept after the first list")
	}
}
