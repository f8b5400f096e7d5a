// Package certificatesigningrequests has the controllers of CertificateSigningRequests: one approves the requests of kubelets,
// one signs approved requests for Kubernetes' own signers, and one deletes old requests.
//
// [NewApprover], [NewSigner] and [NewCleaner] start these controllers. The rules of the signers are described at
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers.
package certificatesigningrequests
