package certificates

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// clusterTrustBundleKind is the row of clustertrustbundles in the server's table of kinds.
var clusterTrustBundleKind = registry.Kind{
	Resource: "clustertrustbundles",
	Object:   &certificatesv1.ClusterTrustBundle{}, List: &certificatesv1.ClusterTrustBundleList{},
	Feature:           "ClusterTrustBundle",
	ConditionalUpdate: true,
	Printer:           &clusterTrustBundleColumns,
	Hooks: registry.HooksOf[*certificatesv1.ClusterTrustBundle]{
		Validate:       validateClusterTrustBundle,
		ValidateUpdate: validateClusterTrustBundleUpdate,
	},
	Fields: trustBundleFields,
}

// validateClusterTrustBundle checks a new bundle of certificates (KEP-3257).
func validateClusterTrustBundle(o *certificatesv1.ClusterTrustBundle) field.ErrorList {
	return trustBundle(o, nil)
}

// validateClusterTrustBundleUpdate checks an update of a bundle. The signer can't change. If the certificates don't
// change, they aren't checked again.
func validateClusterTrustBundleUpdate(o, old *certificatesv1.ClusterTrustBundle) field.ErrorList {
	f := validation.Findings{Errs: trustBundle(o, old)}
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs,
		validation.Unchanged(field.NewPath("spec", "signerName"), o.Spec.SignerName, old.Spec.SignerName))
	return f.Errs
}

func trustBundle(o, old *certificatesv1.ClusterTrustBundle) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, podvalidation.TrustBundleName(o.Spec.SignerName))
	spec := field.NewPath("spec")
	if o.Spec.SignerName != "" {
		f.Merge(podvalidation.SignerName(spec.Child("signerName"), o.Spec.SignerName))
	}
	if old == nil || o.Spec.TrustBundle != old.Spec.TrustBundle {
		f.Merge(trustAnchors(spec.Child("trustBundle"), o.Spec.TrustBundle))
	}
	return f.Errs
}

const maxTrustBundle = 1024 * 1024

// trustAnchors checks that a bundle has only certificates of certificate authorities, and no certificate twice.
func trustAnchors(path *field.Path, bundle string) field.ErrorList {
	var f validation.Findings
	if len(bundle) > maxTrustBundle {
		return field.ErrorList{field.TooLong(path, "", maxTrustBundle)}
	}
	const omitted = "<value omitted>"
	entries := map[string][]int{}
	var order []string
	rest := []byte(bundle)
	for i := 0; ; i++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if wrong := notAnAnchor(block); wrong != "" {
			f.Add(field.Invalid(path, omitted, fmt.Sprintf("entry %d %s", i, wrong)))
			continue
		}
		der := string(block.Bytes)
		if entries[der] == nil {
			order = append(order, der)
		}
		entries[der] = append(entries[der], i)
	}
	if len(f.Errs) > 0 {
		return f.Errs
	}
	f.AddIf(len(order) == 0, field.Invalid(path, omitted, "at least one trust anchor must be provided"))
	for _, der := range order {
		f.AddIf(len(entries[der]) > 1, field.Invalid(path, omitted, fmt.Sprintf("duplicate trust anchor (indices %v)", entries[der])))
	}
	return f.Errs
}

// notAnAnchor says why a PEM block isn't the certificate of a certificate authority. For the certificate of a
// certificate authority, it returns "".
func notAnAnchor(block *pem.Block) string {
	switch {
	case block.Type != "CERTIFICATE":
		return "has bad block type: " + block.Type
	case len(block.Headers) > 0:
		return "has PEM block headers"
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !certificate.IsCA:
		return "does not have the CA bit set"
	}
	return ""
}

// clusterTrustBundleColumns makes the rows of kubectl get. They show the signer.
var clusterTrustBundleColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("SignerName", printers.Doc(certificatesv1.ClusterTrustBundleSpec{}, "signerName"))},
	func(b *certificatesv1.ClusterTrustBundle) []any {
		return []any{b.Name, cmp.Or(b.Spec.SignerName, printers.None)}
	})

var trustBundleFields = registry.FieldsOf[*certificatesv1.ClusterTrustBundle]{
	Values: func(b *certificatesv1.ClusterTrustBundle) fields.Set {
		return fields.Set{"spec.signerName": b.Spec.SignerName}
	},
	Names: []string{"spec.signerName"},
}
