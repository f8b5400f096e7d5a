// Package serviceaccounttokens signs and verifies the bearer tokens of service accounts, and publishes the keys with which
// other programs verify them: the TokenRequest API (KEP-1205) and issuer discovery (KEP-1393). A [TokenGenerator] fills
// in a TokenRequest, an [Authenticator] returns the user of a token, and a [Discovery] serves the OpenID provider's
// documents. The package stores no tokens: a token is valid while its signature, its audience, its times and the
// objects that it is bound to are valid. Don't use the package for tokens of other issuers: package authn has
// JWT authenticators for such tokens.
package serviceaccounttokens
