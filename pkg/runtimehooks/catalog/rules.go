package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// Check returns an error for each hook that breaks a rule for versions. The rules are from the Cluster API proposal
// "Runtime SDK". Rule 2: requests must convert from the newest version to each older version, and responses back.
// Rule 3: a version may be deprecated only if another version that is at least as stable isn't deprecated.
func (c *Catalog) Check() error {
	var errs []error
	seen := map[GroupHook]bool{}
	for _, d := range c.Hooks() {
		hook := d.GroupHook()
		if seen[hook] {
			continue
		}
		seen[hook] = true
		versions := c.Versions(hook)
		errs = append(errs, c.checkConversions(versions), checkDeprecations(versions))
	}
	return errors.Join(errs...)
}

func (c *Catalog) checkConversions(versions []*Descriptor) error {
	var errs []error
	newest := versions[0]
	for _, older := range versions[1:] {
		key := conversionKey{newest.GroupHook(), newest.request, older.request}
		if newest.request != older.request && c.conversions[key] == nil {
			errs = append(errs, fmt.Errorf("hook %s: its request doesn't convert down to version %s: add the conversion by AddConversions", newest, older.Version))
		}
		key = conversionKey{newest.GroupHook(), older.response, newest.response}
		if newest.response != older.response && c.conversions[key] == nil {
			errs = append(errs, fmt.Errorf("hook %s: its response doesn't convert up to version %s: add the conversion by AddConversions", older, newest.Version))
		}
	}
	return errors.Join(errs...)
}

func checkDeprecations(versions []*Descriptor) error {
	stable := 0 // the stability of the most stable version that isn't deprecated; 0 if there is none
	for _, d := range versions {
		if !d.Deprecated {
			stable = max(stable, stability(d.Version))
		}
	}
	var errs []error
	for _, d := range versions {
		if d.Deprecated && stability(d.Version) > stable {
			errs = append(errs, fmt.Errorf("hook %s is deprecated, and no other version that is at least as stable replaces the hook: register such a version, or leave Deprecated out", d))
		}
	}
	return errors.Join(errs...)
}

// stability returns the stability of a version: alpha is less than beta, and beta is less than GA.
func stability(version string) int {
	switch {
	case strings.Contains(version, "alpha"):
		return 1
	case strings.Contains(version, "beta"):
		return 2
	}
	return 3
}
