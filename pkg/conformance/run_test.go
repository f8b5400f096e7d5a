package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

func caseOf(id string, run func(context.Context, *conformance.T)) conformance.Case {
	return conformance.Case{ID: id, Promise: "it works", Source: "a document", Run: run}
}

func passes(context.Context, *conformance.T) {}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	found := conformance.Finding{Level: conformance.LevelError, Sent: "a", Expected: "b", Seen: "c"}
	for _, tc := range []struct {
		name, reason string
		run          func(context.Context, *conformance.T)
		want         conformance.Result
	}{
		{"passed", "no finding is a success", passes, conformance.Result{Status: conformance.Passed}},
		{"failed", "an error fails the case, and the case continues", func(_ context.Context, t *conformance.T) {
			t.Report(conformance.Finding{Sent: "a", Expected: "b", Seen: "c"})
			t.Report(found)
		}, conformance.Result{Status: conformance.Failed, Findings: []conformance.Finding{found, found}}},
		{"fatal", "a fatal finding ends the case", func(_ context.Context, t *conformance.T) {
			end := t.Fatal
			end(found)
			t.Report(found)
		}, conformance.Result{Status: conformance.Failed, Findings: []conformance.Finding{found}}},
		{"advised", "advice fails no case", func(_ context.Context, t *conformance.T) {
			t.Report(conformance.Finding{Level: conformance.LevelAdvice, Seen: "c"})
		}, conformance.Result{Status: conformance.Passed, Findings: []conformance.Finding{{Level: conformance.LevelAdvice, Seen: "c"}}}},
		{"skipped", "a skip ends the case with its reason", func(_ context.Context, t *conformance.T) {
			t.Skip("not here")
			t.Report(found)
		}, conformance.Result{Status: conformance.Skipped, Reason: "not here"}},
		{"failed, then skipped", "a skip doesn't hide an earlier failure", func(_ context.Context, t *conformance.T) {
			t.Report(found)
			t.Skip("not here")
		}, conformance.Result{Status: conformance.Failed, Findings: []conformance.Finding{found}}},
		{"not removed", "a failed cleanup fails the case", func(_ context.Context, t *conformance.T) {
			t.Cleanup(func(context.Context) error { return errors.New("stuck") })
		}, conformance.Result{Status: conformance.Failed, Findings: []conformance.Finding{{
			Level: conformance.LevelError, Expected: "everything that the case made can be removed", Seen: "stuck",
		}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			results, err := conformance.Run(t.Context(), []conformance.Case{caseOf("a", tc.run)}, conformance.Options{})
			if err != nil || len(results) != 1 {
				t.Fatalf("%d results, error %v", len(results), err)
			}
			tc.want.ID, tc.want.Promise, tc.want.Source, tc.want.Took = "a", "it works", "a document", results[0].Took
			if diff := cmp.Diff(tc.want, results[0]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The cleanups of a case run after the case, in reverse order. Their context hasn't ended, even if the run was
// interrupted.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var cleaned []string
	clean := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			cleaned = append(cleaned, name)
			return ctx.Err()
		}
	}
	waits := caseOf("waits", func(ctx context.Context, t *conformance.T) {
		t.Cleanup(clean("first"))
		t.Cleanup(clean("second"))
		cancel()
		<-ctx.Done()
		t.Fatal(conformance.Finding{Seen: "the end"})
	})
	results, err := conformance.Run(ctx, []conformance.Case{waits, caseOf("later", passes)}, conformance.Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status != conformance.Skipped || r.Reason != "the run was interrupted" || r.Findings != nil {
			t.Errorf("%s: want it skipped because the run was interrupted, got %+v", r.ID, r)
		}
	}
	if want := []string{"second", "first"}; !slices.Equal(want, cleaned) {
		t.Errorf("want the cleanups %v, got %v", want, cleaned)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	cases := []conformance.Case{caseOf("review.create.object", passes), caseOf("review.dryRun", passes), caseOf("dryRun.create", passes)}
	for _, tc := range []struct {
		name, reason string
		only, skip   []string
		want         []string
	}{
		{"all", "an empty selection selects all cases", nil, nil, []string{"review.create.object", "review.dryRun", "dryRun.create"}},
		{"only", "the * of a glob also matches dots", []string{"review.*"}, nil, []string{"review.create.object", "review.dryRun"}},
		{"several", "the result has the order of the cases", []string{"dryRun.*", "review.create.object"}, nil,
			[]string{"review.create.object", "dryRun.create"}},
		{"skip", "a case that both Only and Skip match is skipped", []string{"review.*"}, []string{"*dryRun*"},
			[]string{"review.create.object"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			selection := conformance.Selection{Only: tc.only, Skip: tc.skip}
			var got []string
			for _, c := range selection.Of(cases) {
				got = append(got, c.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRefusedRuns(t *testing.T) {
	t.Parallel()
	one := []conformance.Case{caseOf("a", passes)}
	for _, tc := range []struct {
		name, want string
		cases      []conformance.Case
		options    conformance.Options
	}{
		{"glob", `--only "["`, one, conformance.Options{Selection: conformance.Selection{Only: []string{"["}}}},
		{"none", `--only "b": no case has such an identifier`, one,
			conformance.Options{Selection: conformance.Selection{Only: []string{"a", "b"}}}},
		{"none to skip", `--skip "b": no case has such an identifier`, one,
			conformance.Options{Selection: conformance.Selection{Skip: []string{"b"}}}},
		{"all skipped", `--only ["a"], --skip ["*"]: no case is left`, one,
			conformance.Options{Selection: conformance.Selection{Only: []string{"a"}, Skip: []string{"*"}}}},
		{"parallel", "parallel -1", one, conformance.Options{Parallel: -1}},
		{"twice", "case a: another case", append(one, one...), conformance.Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := conformance.Run(t.Context(), tc.cases, tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var seen []int
	options := conformance.Options{Progress: func(p conformance.Progress) {
		seen = append(seen, p.Done)
		if p.All != 3 || p.Last.Status != conformance.Passed || (p.Done == 3) != (p.Left == 0) {
			t.Errorf("progress %+v", p)
		}
	}}
	if _, err := conformance.Run(t.Context(), []conformance.Case{caseOf("a", passes), caseOf("b", passes), caseOf("c", passes)}, options); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 3}; !slices.Equal(want, seen) {
		t.Errorf("want the counts %v, got %v", want, seen)
	}
}
