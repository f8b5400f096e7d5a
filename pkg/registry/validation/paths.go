package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SpecPath is where objects have their spec.
var SpecPath = field.NewPath("spec")

// StatusPath is where objects have their status.
var StatusPath = field.NewPath("status")
