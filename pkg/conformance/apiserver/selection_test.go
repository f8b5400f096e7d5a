package apiserver_test

import (
	"slices"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
)

// The server decides which cases with the prefix "every." exist. In Skip, a glob with this prefix may match none of the
// listed cases. In Only, a glob with this prefix must match, unless the cases were listed without a server. A glob with
// another prefix must always match.
func TestAdapted(t *testing.T) {
	t.Parallel()
	none, err := apiserver.Cases(nil)
	if err != nil {
		t.Fatal(err)
	}
	served := []conformance.Case{{ID: "review.uid"}, {ID: "every.core.v1.pods"}}
	for _, tc := range []struct {
		name, reason string
		cases        []conformance.Case
		only, skip   []string
		want         []string
	}{
		{"only without a server", "the pattern stands for the case", none, []string{"every.core.v1.pods", "review.uid"},
			nil, []string{"review.uid", apiserver.EveryPattern}},
		{"skip without a server", "other resources have cases", none, []string{"every.*", "review.uid"},
			[]string{"every.core.v1.pods"}, []string{"review.uid", apiserver.EveryPattern}},
		{"skip all without a server", "the glob matches the pattern, too", none, []string{"every.*", "review.uid"},
			[]string{"every.*"}, []string{"review.uid"}},
		{"only of a server", "the server has this resource", served, []string{"every.core.v1.pods"}, nil, []string{"every.core.v1.pods"}},
		{"only of another server", "nothing would run", served, []string{"every.core.v1.things"}, nil, nil},
		{"skip of another server", "the same flags are right for several servers", served, nil,
			[]string{"every.core.v1.things"}, []string{"review.uid", "every.core.v1.pods"}},
		{"skip of no server", "the glob is a mistake", served, nil, []string{"reviews.*"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			selection := apiserver.Adapted(conformance.Selection{Only: tc.only, Skip: tc.skip}, tc.cases)
			var got []string
			err := selection.Check(tc.cases)
			if err == nil {
				for _, c := range selection.Of(tc.cases) {
					got = append(got, c.ID)
				}
			}
			if !slices.Equal(got, tc.want) || (err == nil) != (tc.want != nil) {
				t.Errorf("%s: want the cases %q, got %q and the error %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
