package stages

import "testing"

func TestBuiltin(t *testing.T) {
	t.Parallel()
	c, err := Parse(t.Context(), Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, chosen := range c.chosen {
		if !chosen.set.has(Pod) && !chosen.set.has(Node) {
			t.Errorf("the set %s has no stages", chosen.set.Name)
		}
	}
}
