package storage

// These annotations mark a class as the default one.
const (
	defaultClassAnnotation       = "storageclass.kubernetes.io/is-default-class"
	betaDefaultStorageClass      = "storageclass.beta.kubernetes.io/is-default-class"
	defaultVolumeAttributesClass = "volumeattributesclass.alpha.kubernetes.io/is-default-class"
)

// className shows the name of a class, with a mark if an annotation makes it the default one.
func className(name string, annotations map[string]string, marks ...string) string {
	for _, mark := range marks {
		if annotations[mark] == "true" {
			return name + " (default)"
		}
	}
	return name
}
