package storage

// The annotations that mark a StorageClass or a VolumeAttributesClass as the default.
const (
	defaultClassAnnotation       = "storageclass.kubernetes.io/is-default-class"
	betaDefaultStorageClass      = "storageclass.beta.kubernetes.io/is-default-class"
	defaultVolumeAttributesClass = "volumeattributesclass.alpha.kubernetes.io/is-default-class"
)

// className returns the name of a StorageClass or a VolumeAttributesClass for the rows of kubectl get. The argument
// "marks" has annotations: if one of them is "true", the class is the default, and its name gets the suffix
// "(default)".
func className(name string, annotations map[string]string, marks ...string) string {
	for _, mark := range marks {
		if annotations[mark] == "true" {
			return name + " (default)"
		}
	}
	return name
}
