package defaults

// Pointer sets *field to a pointer to value, unless *field is set.
func Pointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// Zero sets *field to value if it has its type's zero value.
func Zero[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// LabelsOf gives an object without labels those of its pod template. The two share one map, as in kube-apiserver.
// Therefore a label that is later added to the template of a Job is also a label of the Job.
func LabelsOf(template map[string]string, object *map[string]string) {
	if template != nil && len(*object) == 0 {
		*object = template
	}
}
