// Package serviceaccount signs the bearer tokens of service accounts, verifies them, and publishes the
// keys that others verify them with: the TokenRequest API (KEP-1205) and issuer discovery (KEP-1393).
//
// A [TokenGenerator] fills in a TokenRequest, an [Authenticator] turns a token back into a user, and a
// [Discovery] serves the OpenID provider's documents. None of them stores anything: a token is valid as long
// as its signature, its audience, its times and the objects that it is bound to are.
//
// It is not for tokens of other issuers: those are the JWT authenticators of package authentication.
package serviceaccount
