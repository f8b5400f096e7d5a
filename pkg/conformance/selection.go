package conformance

import (
	"errors"
	"fmt"
	"path"
	"slices"
)

// Selection selects cases by their identifiers.
type Selection struct {
	// Only and Skip are globs in the syntax of path.Match: admission.* matches all cases of admission, and *.dryRun*
	// all cases about dry runs. An empty Only selects all cases. A case that both Only and Skip match is skipped.
	Only, Skip []string
}

func (s *Selection) validate() error {
	var errs []error
	for i, glob := range slices.Concat(s.Only, s.Skip) {
		flag := "--only"
		if i >= len(s.Only) {
			flag = "--skip"
		}
		if _, err := path.Match(glob, ""); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: must be a pattern of identifiers, such as review.*: %w", flag, glob, err))
		}
	}
	return errors.Join(errs...)
}

// Check returns an error for each glob that matches no case, and an error if no case is selected.
func (s *Selection) Check(cases []Case) error {
	var errs []error
	for _, glob := range s.Only {
		if !matchesAny(glob, cases) {
			errs = append(errs, fmt.Errorf("--only %q: no case has such an identifier: name a case that --list prints", glob))
		}
	}
	for _, glob := range s.Skip {
		if !matchesAny(glob, cases) {
			errs = append(errs, fmt.Errorf("--skip %q: no case has such an identifier: name a case that --list prints", glob))
		}
	}
	if len(errs) == 0 && len(s.Of(cases)) == 0 {
		errs = append(errs, fmt.Errorf("--only %q, --skip %q: no case is left: select more cases or skip fewer", s.Only, s.Skip))
	}
	return errors.Join(errs...)
}

func matchesAny(glob string, cases []Case) bool {
	return slices.ContainsFunc(cases, func(c Case) bool { return matches([]string{glob}, c.ID) })
}

// Of returns the selected cases, in their order.
func (s *Selection) Of(cases []Case) []Case {
	var selected []Case
	for _, c := range cases {
		if (len(s.Only) == 0 || matches(s.Only, c.ID)) && !matches(s.Skip, c.ID) {
			selected = append(selected, c)
		}
	}
	return selected
}

func matches(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		matched, _ := path.Match(glob, id) // validate has already refused malformed globs
		return matched
	})
}
