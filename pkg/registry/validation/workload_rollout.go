package validation

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// intOrPercent checks a number that can be a share of the replicas.
func intOrPercent(path *field.Path, v intstr.IntOrString) field.ErrorList {
	if v.Type == intstr.Int {
		return nonnegative(path, v.IntVal)
	}
	var f findings
	for _, msg := range utilvalidation.IsValidPercent(v.StrVal) {
		f.add(field.Invalid(path, v, msg))
	}
	return f.errs
}

// atMostAll checks that a share is not more than everything.
func atMostAll(path *field.Path, v intstr.IntOrString) field.ErrorList {
	if n, isPercent := percent(v); !isPercent || n <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, v, "must not be greater than 100%")}
}

func percent(v intstr.IntOrString) (int, bool) {
	if v.Type != intstr.String || len(utilvalidation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	return n, err == nil
}

func isZero(v intstr.IntOrString) bool {
	if n, isPercent := percent(v); isPercent {
		return n == 0
	}
	return v.IntValue() == 0
}

// collisions checks a count of name collisions, which only grows.
func collisions(path *field.Path, now, was *int32) field.ErrorList {
	switch {
	case now == nil && was != nil:
		return field.ErrorList{field.Invalid(path, int32(0), "cannot be decremented")}
	case now != nil && was != nil && *now < *was:
		return field.ErrorList{field.Invalid(path, *now, "cannot be decremented")}
	}
	return nil
}

// count is a number in the status of a controller.
type count struct {
	name string
	n    int64
}

// counts checks that numbers are not negative.
func counts(path *field.Path, cs ...count) field.ErrorList {
	var f findings
	for _, c := range cs {
		f.merge(nonnegative(path.Child(c.name), c.n))
	}
	return f.errs
}

// atMost checks that numbers are not greater than another, which msg names.
func atMost(path *field.Path, most int32, msg string, cs ...count) field.ErrorList {
	var f findings
	for _, c := range cs {
		f.addIf(c.n > int64(most), field.Invalid(path.Child(c.name), c.n, msg))
	}
	return f.errs
}

const moreThanReplicas = "cannot be greater than status.replicas"
