package defaults

import (
	_ "crypto/sha256" // digests of images need the algorithms of sha256, sha384 and sha512
	_ "crypto/sha512"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
)

// imagePullPolicy sets the pull policy of an image, unless it is set. The default is Always for an image with the
// tag "latest", or with neither tag nor digest. It is IfNotPresent for other images, and for references that can't
// be parsed.
func imagePullPolicy(policy *corev1.PullPolicy, image string) {
	if *policy != "" {
		return
	}
	*policy = corev1.PullIfNotPresent
	if isLatest(image) {
		*policy = corev1.PullAlways
	}
}

// isLatest reports whether a reference means the latest image of a repository.
func isLatest(image string) bool {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return false
	}
	if tagged, ok := named.(reference.Tagged); ok {
		return tagged.Tag() == "latest"
	}
	_, digested := named.(reference.Digested)
	return !digested
}
