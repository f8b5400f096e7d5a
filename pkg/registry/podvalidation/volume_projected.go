package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func downwardVolume(path *field.Path, s *corev1.DownwardAPIVolumeSource) field.ErrorList {
	errs := append(fileMode(path.Child("defaultMode"), s.DefaultMode), UserID(path.Child("defaultUser"), s.DefaultUser)...)
	for i := range s.Items {
		errs = append(errs, downwardFile(path, &s.Items[i])...)
	}
	return errs
}

// downwardFile checks a file that has the value of a pod field, or of a container's resource.
func downwardFile(path *field.Path, file *corev1.DownwardAPIVolumeFile) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.Present(path, "path", file.Path), filePath(path.Child("path"), file.Path))
	switch {
	case file.FieldRef != nil:
		f.Merge(fieldRef(path.Child("fieldRef"), file.FieldRef, volumeFields))
		f.AddIf(file.ResourceFieldRef != nil, field.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
	case file.ResourceFieldRef != nil:
		f.Merge(resourceFieldRef(path.Child("resourceFieldRef"), file.ResourceFieldRef, true))
	default:
		f.Add(field.Required(path, "one of fieldRef and resourceFieldRef is required"))
	}
	f.Merge(fileMode(path.Child("mode"), file.Mode), UserID(path.Child("user"), file.User))
	return f.Errs
}

func projectedVolume(path *field.Path, s *corev1.ProjectedVolumeSource) field.ErrorList {
	p := projection{volume: path, files: sets.New[string]()}
	p.Merge(fileMode(path.Child("defaultMode"), s.DefaultMode), UserID(path.Child("defaultUser"), s.DefaultUser))
	for i := range s.Sources {
		p.source(path.Child("sources").Index(i), &s.Sources[i])
	}
	return p.Errs
}

// projection checks the sources of a projected volume. All of them write into the same folder.
type projection struct {
	validation.Findings
	volume *field.Path
	files  sets.Set[string]
}

// file checks that no other source writes a file at the same path. The error shows the argument
// "value".
func (p *projection) file(name, value string) {
	p.AddIf(p.files.Has(name), field.Invalid(p.volume, value, "conflicting duplicate paths"))
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
	p.AddIf(n > 1, field.Forbidden(path, "may not specify more than 1 volume type per source"))
}

func (p *projection) secret(path *field.Path, s *corev1.VolumeProjection) {
	p.keys(path, s.Secret.Name, s.Secret.Items)
}

func (p *projection) configMap(path *field.Path, s *corev1.VolumeProjection) {
	p.keys(path, s.ConfigMap.Name, s.ConfigMap.Items)
}

func (p *projection) keys(path *field.Path, name string, items []corev1.KeyToPath) {
	p.Merge(validation.Present(path, "name", name))
	for i := range items {
		p.Merge(keyToPath(path.Child("items").Index(i), &items[i]))
		if items[i].Path != "" {
			p.file(items[i].Path, name)
		}
	}
}

func (p *projection) downward(path *field.Path, s *corev1.VolumeProjection) {
	for i := range s.DownwardAPI.Items {
		file := &s.DownwardAPI.Items[i]
		p.Merge(downwardFile(path, file))
		if file.Path != "" {
			p.file(file.Path, file.Path)
		}
	}
}

func (p *projection) token(path *field.Path, s *corev1.VolumeProjection) {
	if seconds := s.ServiceAccountToken.ExpirationSeconds; seconds != nil {
		p.Merge(validation.TokenLifetime(path.Child("expirationSeconds"), *seconds))
	}
	file := s.ServiceAccountToken.Path
	p.Merge(validation.Present(p.volume, "path", file))
	p.Merge(filePath(p.volume.Child("path"), file), UserID(path.Child("user"), s.ServiceAccountToken.User))
}

// trustBundle checks a source that writes trusted certificates (KEP-3257).
func (p *projection) trustBundle(path *field.Path, s *corev1.VolumeProjection) {
	b := s.ClusterTrustBundle
	switch {
	case b.Name != nil && b.SignerName != nil:
		p.Add(field.Invalid(path, validation.Unversioned(b), "only one of name and signerName may be used"))
	case b.Name != nil:
		p.AddIf(*b.Name == "", field.Required(path.Child("name"), "must be a valid object name"))
		for _, msg := range TrustBundleName(signerOfBundle(*b.Name))(*b.Name, false) {
			p.Add(field.Invalid(path.Child("name"), *b.Name, "not a valid clustertrustbundlename: "+msg))
		}
		p.AddIf(b.LabelSelector != nil, field.Invalid(path.Child("labelSelector"), b.LabelSelector, "labelSelector must be unset if name is specified"))
	case b.SignerName != nil:
		p.AddIf(*b.SignerName == "", field.Required(path.Child("signerName"), "must be a valid signer name"))
		p.Merge(SignerName(path.Child("signerName"), *b.SignerName), validation.LabelSelector(path.Child("labelSelector"), b.LabelSelector))
	default:
		p.Add(field.Required(path, "either name or signerName must be specified"))
	}
	p.Merge(validation.Present(path, "path", b.Path), UserID(path.Child("user"), b.User), filePath(path.Child("path"), b.Path))
	p.file(b.Path, b.Path)
}

// certificate checks a source that writes a certificate of the pod (KEP-4317).
func (p *projection) certificate(path *field.Path, s *corev1.VolumeProjection) {
	c := s.PodCertificate
	p.Merge(
		SignerName(path.Child("signerName"), c.SignerName),
		UserAnnotations(path.Child("userAnnotations"), c.UserAnnotations),
		UserID(path.Child("user"), c.User),
		validation.OneOf(path.Child("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"))
	if seconds := c.MaxExpirationSeconds; seconds != nil {
		path := path.Child("maxExpirationSeconds")
		p.AddIf(*seconds < MinCertificateSeconds, field.Invalid(path, *seconds,
			fmt.Sprintf("if provided, maxExpirationSeconds must be >= %d", MinCertificateSeconds)))
		most := MaxCertificateSeconds(c.SignerName)
		p.AddIf(*seconds > most, field.Invalid(path, *seconds, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", most)))
	}
	n := 0
	for _, file := range []struct{ name, path string }{
		{"credentialBundlePath", c.CredentialBundlePath},
		{"keyPath", c.KeyPath},
		{"certificateChainPath", c.CertificateChainPath},
	} {
		if file.path != "" {
			n++
			p.Merge(filePath(path.Child(file.name), file.path))
			p.file(file.path, file.path)
		}
	}
	p.AddIf(n == 0, field.Required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
}
