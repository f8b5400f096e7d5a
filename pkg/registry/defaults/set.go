package defaults

// Pointer sets *field to point to value, unless it points to one already.
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

// LabelsOf gives an object without labels those of its pod template. They share
// one map, as they do in kube-apiserver: a label that is then added to the
// template of a Job shows on the Job too.
func LabelsOf(template map[string]string, object *map[string]string) {
	if template != nil && len(*object) == 0 {
		*object = template
	}
}
