package serviceaccounttokens

import (
	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claims is the payload of a token: the registered claims of RFC 7519 and the claims of Kubernetes.
type claims struct {
	jwt.RegisteredClaims
	legacyClaims
	Kubernetes *kubernetesClaims `json:"kubernetes.io,omitempty"`
}

// kubernetesClaims name the account and the objects that the token is bound to.
type kubernetesClaims struct {
	Namespace      string           `json:"namespace,omitempty"`
	Node           *reference       `json:"node,omitempty"`
	Pod            *reference       `json:"pod,omitempty"`
	Secret         *reference       `json:"secret,omitempty"`
	ServiceAccount reference        `json:"serviceaccount"`
	WarnAfter      *jwt.NumericDate `json:"warnafter,omitempty"`
	// The next claims are in tokens for admission webhooks (KEP-6060).
	ValidatingWebhookConfiguration *reference                                   `json:"validatingwebhookconfiguration,omitempty"`
	MutatingWebhookConfiguration   *reference                                   `json:"mutatingwebhookconfiguration,omitempty"`
	Attestations                   map[string]authenticationv1.AttestationValue `json:"attestations,omitempty"`
}

// reference identifies one object: a later object of the same name has another UID.
type reference struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

func referenceTo(object metav1.Object) reference {
	return reference{Name: object.GetName(), UID: string(object.GetUID())}
}

// legacyClaims are the claims of a token in a Secret of type kubernetes.io/service-account-token.
type legacyClaims struct {
	Namespace          string `json:"kubernetes.io/serviceaccount/namespace,omitempty"`
	SecretName         string `json:"kubernetes.io/serviceaccount/secret.name,omitempty"`
	ServiceAccountName string `json:"kubernetes.io/serviceaccount/service-account.name,omitempty"`
	ServiceAccountUID  string `json:"kubernetes.io/serviceaccount/service-account.uid,omitempty"`
}
