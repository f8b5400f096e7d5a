package validation

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ReplicaCounts checks the numbers in the status of a ReplicaSet or ReplicationController.
func ReplicaCounts(replicas, labeled, ready, available int32, terminating *int32, generation int64) field.ErrorList {
	path := StatusPath
	var f Findings
	f.Merge(
		Counts(path, CountOf("replicas", int64(replicas)), CountOf("fullyLabeledReplicas", int64(labeled)),
			CountOf("readyReplicas", int64(ready)), CountOf("availableReplicas", int64(available)),
			CountOf("terminatingReplicas", int64(ptr.Deref(terminating, 0))), CountOf("observedGeneration", generation)),
		AtMost(path, replicas, MoreThanReplicas, CountOf("fullyLabeledReplicas", int64(labeled)),
			CountOf("readyReplicas", int64(ready)), CountOf("availableReplicas", int64(available))),
		AtMost(path, ready, "cannot be greater than readyReplicas", CountOf("availableReplicas", int64(available))))
	return f.Errs
}

// IntOrPercent checks a value that is a number, or a percentage of the replicas.
func IntOrPercent(path *field.Path, v intstr.IntOrString) field.ErrorList {
	if v.Type == intstr.Int {
		return Nonnegative(path, v.IntVal)
	}
	var f Findings
	for _, msg := range utilvalidation.IsValidPercent(v.StrVal) {
		f.Add(field.Invalid(path, v, msg))
	}
	return f.Errs
}

// AtMostAll checks that a percentage is at most 100%.
func AtMostAll(path *field.Path, v intstr.IntOrString) field.ErrorList {
	if n, isPercent := Percent(v); !isPercent || n <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, v, "must not be greater than 100%")}
}

// Percent returns the number of a percentage, or the greatest int if the number is greater. It returns false if the
// value isn't a percentage.
func Percent(v intstr.IntOrString) (int, bool) {
	if v.Type != intstr.String || len(utilvalidation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%")) // the only possible error is that of a number greater than an int
	return n, true
}

// Count is a number in the status of a controller, with the name of its field.
type Count struct {
	name string
	n    int64
}

// CountOf returns a Count of the field with the name and the value.
func CountOf(name string, n int64) Count { return Count{name, n} }

// Counts checks that numbers are not negative.
func Counts(path *field.Path, cs ...Count) field.ErrorList {
	var f Findings
	for _, c := range cs {
		f.Merge(Nonnegative(path.Child(c.name), c.n))
	}
	return f.Errs
}

// AtMost checks that no number in "cs" is greater than "most". The argument "msg" is the message of
// the errors.
func AtMost(path *field.Path, most int32, msg string, cs ...Count) field.ErrorList {
	var f Findings
	for _, c := range cs {
		f.AddIf(c.n > int64(most), field.Invalid(path.Child(c.name), c.n, msg))
	}
	return f.Errs
}

// MoreThanReplicas is the message about a number that is greater than the number of replicas.
const MoreThanReplicas = "cannot be greater than status.replicas"
