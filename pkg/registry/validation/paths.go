package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SpecPath is the path of an object's spec.
var SpecPath = field.NewPath("spec")

// StatusPath is the path of an object's status.
var StatusPath = field.NewPath("status")
