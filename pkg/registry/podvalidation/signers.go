package podvalidation

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// MinCertificateSeconds is the shortest validity of a pod's certificate, in seconds.
const MinCertificateSeconds = 60 * 60

// MaxCertificateSeconds returns the longest validity, in seconds, of a pod's certificate from a signer. It is shorter
// for the signers of Kubernetes itself.
func MaxCertificateSeconds(signer string) int32 {
	const day = 24 * 60 * 60
	if domain, _, _ := strings.Cut(signer, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return day
	}
	return 91 * day
}

// TrustBundleName returns the rule for names of ClusterTrustBundles of a signer. An empty signer stands for bundles
// without a signer.
func TrustBundleName(signer string) apivalidation.ValidateNameFunc {
	if signer == "" {
		return func(name string, prefix bool) []string {
			if strings.Contains(name, ":") {
				return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
			}
			return apivalidation.NameIsDNSSubdomain(name, prefix)
		}
	}
	start := strings.ReplaceAll(signer, "/", ":") + ":"
	return func(name string, prefix bool) []string {
		own, ok := strings.CutPrefix(name, start)
		if !ok {
			return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, start)}
		}
		return apivalidation.NameIsDNSSubdomain(own, prefix)
	}
}

// signerOfBundle returns the signer in the name of a ClusterTrustBundle. A bundle without a signer has no colon in its
// name.
func signerOfBundle(name string) string {
	return strings.ReplaceAll(name[:max(0, strings.LastIndex(name, ":"))], ":", "/")
}

// SignerName checks the name of a signer of certificates: a domain and a path.
func SignerName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	domain, inside, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(inside, "/") {
		return field.ErrorList{field.Invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	var f validation.Findings
	// As in kube-apiserver, only the first invalid segment gives errors.
	segments := func(value string, r validation.Rule) {
		for segment := range strings.SplitSeq(value, ".") {
			if msgs := r(segment); len(msgs) > 0 {
				for _, msg := range msgs {
					f.Add(field.Invalid(path, value, fmt.Sprintf("validating label %q: %s", segment, msg)))
				}
				return
			}
		}
	}
	const longest = utilvalidation.DNS1123SubdomainMaxLength
	f.AddIf(len(domain) > longest, field.TooLong(path, domain, longest))
	segments(domain, utilvalidation.IsDNS1123Label)
	f.AddIf(!strings.Contains(domain, "."), field.Invalid(path, domain, "should be a domain with at least two segments separated by dots"))
	segments(inside, utilvalidation.IsDNS1123Subdomain)
	// The part after the slash may consist of the namespace and the name of a resource, with a dot between them.
	const longestName = longest + 1 + longest + 1 + utilvalidation.DNS1123LabelMaxLength
	f.AddIf(len(name) > longestName, field.TooLong(path, name, longestName))
	return f.Errs
}

// UserAnnotations checks the annotations that a pod passes to its signer. Each key must have a domain.
func UserAnnotations(path *field.Path, annotations map[string]string) field.ErrorList {
	var f validation.Findings
	for key := range validation.Sorted(annotations) {
		f.Merge(utilvalidation.IsDomainPrefixedKey(path, strings.ToLower(key)))
	}
	f.AddIf(apivalidation.ValidateAnnotationsSize(annotations) != nil, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	return f.Errs
}
