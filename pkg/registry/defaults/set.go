package defaults

// pointer sets *field to point to value, unless it points to one already.
func pointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// zero sets *field to value if it has its type's zero value.
func zero[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// labelsOf gives an object without labels those of its pod template. They share
// one map, as they do in kube-apiserver: a label that is then added to the
// template of a Job shows on the Job too.
func labelsOf(template map[string]string, object *map[string]string) {
	if template != nil && len(*object) == 0 {
		*object = template
	}
}
