package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func downwardVolume(path *field.Path, s *corev1.DownwardAPIVolumeSource) field.ErrorList {
	errs := fileMode(path.Child("defaultMode"), s.DefaultMode)
	for i := range s.Items {
		errs = append(errs, downwardFile(path, &s.Items[i])...)
	}
	return errs
}

// downwardFile checks a file that shows a field of the pod, or a resource of one of its
// containers.
func downwardFile(path *field.Path, file *corev1.DownwardAPIVolumeFile) field.ErrorList {
	var f findings
	f.merge(present(path, "path", file.Path), filePath(path.Child("path"), file.Path))
	switch {
	case file.FieldRef != nil:
		f.merge(fieldRef(path.Child("fieldRef"), file.FieldRef, volumeFields))
		f.addIf(file.ResourceFieldRef != nil, field.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
	case file.ResourceFieldRef != nil:
		f.merge(resourceFieldRef(path.Child("resourceFieldRef"), file.ResourceFieldRef, true))
	default:
		f.add(field.Required(path, "one of fieldRef and resourceFieldRef is required"))
	}
	f.merge(fileMode(path.Child("mode"), file.Mode))
	return f.errs
}

func projectedVolume(path *field.Path, s *corev1.ProjectedVolumeSource) field.ErrorList {
	p := projection{volume: path, files: sets.New[string]()}
	p.merge(fileMode(path.Child("defaultMode"), s.DefaultMode))
	for i := range s.Sources {
		p.source(path.Child("sources").Index(i), &s.Sources[i])
	}
	return p.errs
}

// projection is a check of a projected volume: all sources write into one folder.
type projection struct {
	findings
	volume *field.Path
	files  sets.Set[string]
}

// file checks that no other source writes the file; value is what the error shows.
func (p *projection) file(name, value string) {
	p.addIf(p.files.Has(name), field.Invalid(p.volume, value, "conflicting duplicate paths"))
	p.files.Insert(name)
}

func (p *projection) source(path *field.Path, s *corev1.VolumeProjection) {
	n := 0
	for _, source := range []struct {
		name  string
		set   bool
		check func(*field.Path, *corev1.VolumeProjection)
	}{
		{"secret", s.Secret != nil, p.secret},
		{"configMap", s.ConfigMap != nil, p.configMap},
		{"downwardAPI", s.DownwardAPI != nil, p.downward},
		{"serviceAccountToken", s.ServiceAccountToken != nil, p.token},
		{"clusterTrustBundle", s.ClusterTrustBundle != nil, p.trustBundle},
		{"podCertificate", s.PodCertificate != nil, p.certificate},
	} {
		if source.set {
			n++
			source.check(path.Child(source.name), s)
		}
	}
	p.addIf(n > 1, field.Forbidden(path, "may not specify more than 1 volume type per source"))
}

func (p *projection) secret(path *field.Path, s *corev1.VolumeProjection) {
	p.keys(path, s.Secret.Name, s.Secret.Items)
}

func (p *projection) configMap(path *field.Path, s *corev1.VolumeProjection) {
	p.keys(path, s.ConfigMap.Name, s.ConfigMap.Items)
}

func (p *projection) keys(path *field.Path, name string, items []corev1.KeyToPath) {
	p.merge(present(path, "name", name))
	for i := range items {
		p.merge(keyToPath(path.Child("items").Index(i), &items[i]))
		if items[i].Path != "" {
			p.file(items[i].Path, name)
		}
	}
}

func (p *projection) downward(path *field.Path, s *corev1.VolumeProjection) {
	for i := range s.DownwardAPI.Items {
		file := &s.DownwardAPI.Items[i]
		p.merge(downwardFile(path, file))
		if file.Path != "" {
			p.file(file.Path, file.Path)
		}
	}
}

func (p *projection) token(path *field.Path, s *corev1.VolumeProjection) {
	const shortest, longest = 10 * 60, 1 << 32
	if seconds := s.ServiceAccountToken.ExpirationSeconds; seconds != nil {
		path := path.Child("expirationSeconds")
		p.addIf(*seconds < shortest, field.Invalid(path, *seconds, "may not specify a duration less than 10 minutes"))
		p.addIf(*seconds > longest, field.Invalid(path, *seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	file := s.ServiceAccountToken.Path
	p.merge(present(p.volume, "path", file))
	p.merge(filePath(p.volume.Child("path"), file))
}

// trustBundle checks a bundle of certificates (KEP-3257).
func (p *projection) trustBundle(path *field.Path, s *corev1.VolumeProjection) {
	b := s.ClusterTrustBundle
	switch {
	case b.Name != nil && b.SignerName != nil:
		p.add(field.Invalid(path, unversioned(b), "only one of name and signerName may be used"))
	case b.Name != nil:
		p.addIf(*b.Name == "", field.Required(path.Child("name"), "must be a valid object name"))
		p.addIf(b.LabelSelector != nil, field.Invalid(path.Child("labelSelector"), b.LabelSelector, "labelSelector must be unset if name is specified"))
	case b.SignerName != nil:
		p.addIf(*b.SignerName == "", field.Required(path.Child("signerName"), "must be a valid signer name"))
		p.merge(signerName(path.Child("signerName"), *b.SignerName), labelSelector(path.Child("labelSelector"), b.LabelSelector))
	default:
		p.add(field.Required(path, "either name or signerName must be specified"))
	}
	p.merge(present(path, "path", b.Path), filePath(path.Child("path"), b.Path))
	p.file(b.Path, b.Path)
}

const (
	minCertificateSeconds = 60 * 60
	maxCertificateSeconds = 91 * 24 * 60 * 60
)

// certificate checks a certificate of the pod's own (KEP-4317).
func (p *projection) certificate(path *field.Path, s *corev1.VolumeProjection) {
	c := s.PodCertificate
	p.merge(
		signerName(path.Child("signerName"), c.SignerName),
		oneOf(path.Child("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"))
	if seconds := c.MaxExpirationSeconds; seconds != nil {
		path := path.Child("maxExpirationSeconds")
		p.addIf(*seconds < minCertificateSeconds, field.Invalid(path, *seconds,
			fmt.Sprintf("if provided, maxExpirationSeconds must be >= %d", minCertificateSeconds)))
		p.addIf(*seconds > maxCertificateSeconds, field.Invalid(path, *seconds,
			fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", maxCertificateSeconds)))
	}
	n := 0
	for _, file := range []struct{ name, path string }{
		{"credentialBundlePath", c.CredentialBundlePath},
		{"keyPath", c.KeyPath},
		{"certificateChainPath", c.CertificateChainPath},
	} {
		if file.path != "" {
			n++
			p.merge(filePath(path.Child(file.name), file.path))
			p.file(file.path, file.path)
		}
	}
	p.addIf(n == 0, field.Required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
	p.merge(userAnnotations(path.Child("userAnnotations"), c.UserAnnotations))
}

// signerName checks the name of who signs certificates: a domain, and a path in it.
func signerName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	domain, inside, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(inside, "/") {
		return field.ErrorList{field.Invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	var f findings
	// One bad segment is told: the messages of others would not differ.
	segments := func(value string, r rule) {
		for segment := range strings.SplitSeq(value, ".") {
			if msgs := r(segment); len(msgs) > 0 {
				for _, msg := range msgs {
					f.add(field.Invalid(path, value, fmt.Sprintf("validating label %q: %s", segment, msg)))
				}
				return
			}
		}
	}
	const longest = utilvalidation.DNS1123SubdomainMaxLength
	f.addIf(len(domain) > longest, field.TooLong(path, domain, longest))
	segments(domain, utilvalidation.IsDNS1123Label)
	f.addIf(!strings.Contains(domain, "."), field.Invalid(path, domain, "should be a domain with at least two segments separated by dots"))
	segments(inside, utilvalidation.IsDNS1123Subdomain)
	// The path holds the namespace and the name of a resource, and a dot between them.
	const longestName = longest + 1 + longest + 1 + utilvalidation.DNS1123LabelMaxLength
	f.addIf(len(name) > longestName, field.TooLong(path, name, longestName))
	return f.errs
}
