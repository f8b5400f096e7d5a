package defaults

import (
	"regexp"
	"strings"
	"sync"

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

// maxNameLength bounds the length of an image's name, without tag and digest. The length includes the default
// domain, which is added to a name without a domain.
const maxNameLength = 255

// imageReference is the grammar of image references, from github.com/distribution/reference. Its groups are the
// name, the tag, and the algorithm and value of the digest.
var imageReference = sync.OnceValue(func() *regexp.Regexp {
	const (
		label     = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
		domain    = `(?:` + label + `(?:\.` + label + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
		component = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
		tag       = `[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}`
		digest    = `([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):([0-9a-fA-F]{32,})`
	)
	return regexp.MustCompile(`^((?:` + domain + `/)?` + component + `(?:/` + component + `)*)(?::(` + tag + `))?(?:@` + digest + `)?$`)
})

// identifier is the form of an image ID. The name of an image can't have this form.
var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-f0-9]{64}$`) })

// digestLengths are the numbers of hex digits in digests, by algorithm.
var digestLengths = map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}

// isLatest reports whether a reference means the latest image of a repository.
func isLatest(image string) bool {
	if identifier().MatchString(image) {
		return false
	}
	switch {
	case hasDomain(image):
	case strings.Contains(image, "/"):
		image = "docker.io/" + image
	default:
		image = "docker.io/library/" + image
	}
	match := imageReference().FindStringSubmatch(image)
	if match == nil || len(match[1]) > maxNameLength {
		return false
	}
	tag, algorithm, digest := match[2], match[3], match[4]
	if algorithm == "" {
		return tag == "" || tag == "latest"
	}
	return tag == "latest" && len(digest) == digestLengths[algorithm] && digest == strings.ToLower(digest)
}

// hasDomain reports whether the first component of an image's name is a registry. A registry has a dot, a port or
// an upper-case letter, or is "localhost".
func hasDomain(image string) bool {
	first, _, found := strings.Cut(image, "/")
	return found && (strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first)
}
