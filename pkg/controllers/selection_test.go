package controllers_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	const namespace, garbage = "namespace-controller", "garbage-collector-controller"
	for _, test := range []struct {
		name, reason string
		selection    controllers.Selection
		want         []string // the selected controllers, of the two controllers namespace and garbage
		errs         int
	}{
		{"nothing", "by default, no controller runs", nil, nil, 0},
		{"all", "a star selects all controllers", controllers.Selection{"*"}, []string{namespace, garbage}, 0},
		{"one", "a name selects only one controller", controllers.Selection{garbage}, []string{garbage}, 0},
		{"all but one", "a minus excludes a controller", controllers.Selection{"*", "-" + garbage}, []string{namespace}, 0},
		{"all but one, in another order", "the order doesn't matter", controllers.Selection{"-" + garbage, "*"}, []string{namespace}, 0},
		{"a former name", "kube-controller-manager accepts former names too",
			controllers.Selection{"*", "-garbagecollector"}, []string{namespace}, 0},
		{"an account", "logs and audit events show the service account",
			controllers.Selection{"generic-garbage-collector"}, []string{garbage}, 0},
		{"named and excluded", "the first entry about a controller counts, as in kube-controller-manager",
			controllers.Selection{garbage, "-" + garbage}, []string{garbage}, 0},
		{"excluded and named", "the first entry about a controller counts, as in kube-controller-manager",
			controllers.Selection{"-" + garbage, garbage, namespace}, []string{namespace}, 0},
		{"unknown", "a misspelled name must be an error", controllers.Selection{"garbage", "-namespaces"}, nil, 2},
		{"empty", "no controller has an empty name", controllers.Selection{""}, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if errs := test.selection.Validate(); len(errs) != test.errs {
				t.Errorf("%s: want %d errors, got %v", test.reason, test.errs, errs)
			}
			var got []string
			for _, name := range []string{namespace, garbage} {
				if test.selection.Has(name) {
					got = append(got, name)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: want %v, got %v", test.reason, test.want, got)
			}
			if test.selection.Any() != (len(test.want) > 0) {
				t.Errorf("%s: Any is %v", test.reason, test.selection.Any())
			}
		})
	}
}

// The kube-controller-manager in docs/controllers.md leaves out the controllers of this package, and no other.
func TestDocumentedRecipe(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/controllers.md")
	if err != nil {
		t.Fatal(err)
	}
	var excluded []string
	for _, name := range regexp.MustCompile(`[=,]-([a-z-]+-controller)`).FindAllSubmatch(page, -1) {
		excluded = append(excluded, string(name[1]))
	}
	slices.Sort(excluded)
	want := slices.Sorted(slices.Values(controllers.Names(controllers.All)))
	if !slices.Equal(slices.Compact(excluded), want) {
		t.Errorf("want the controllers %q to be excluded, got %q", want, excluded)
	}
}
