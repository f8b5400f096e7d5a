package defaults

// Pointer sets *field to a pointer to value, unless *field is set.
func Pointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// Zero sets *field to value, if *field is the zero value of its type.
func Zero[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// LabelsOf gives an object without labels the labels of its pod template. The object and the template share one
// map, as in kube-apiserver. A label that is later added to the template of a Job is then a label of the Job too.
func LabelsOf(template map[string]string, object *map[string]string) {
	if template != nil && len(*object) == 0 {
		*object = template
	}
}
