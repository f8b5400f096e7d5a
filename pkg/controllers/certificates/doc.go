// Package certificates has the controllers of CertificateSigningRequests: one approves the requests of kubelets,
// one signs approved requests of Kubernetes' own signers, and one deletes requests that are over.
//
// [NewApprover], [NewSigner] and [NewCleaner] start them. The rules of the signers are those of
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers.
package certificates
