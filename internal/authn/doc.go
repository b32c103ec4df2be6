// Package authn tells who calls, from the access token of an OpenID Connect
// provider. It looks up the provider's keys, checks a token against them and reads
// the claims that the service knows. What a caller may do, it never decides: a
// token with no role at all is a good one here.
//
// The library go-oidc does the discovery and checks signature, issuer and audience.
// What surrounds it is about being called by strangers. Keys are fetched by
// [Authenticator.Run] alone and not by requests, so that tokens with invented key
// ids cause a handful of fetches a minute, and a provider that is down takes no good
// key away. And the claims are read strictly, so that this package, the library and
// whoever reads a token in the log understand the same by it.
//
// No token and no signature is written anywhere; of a token that is refused, the log
// may get the claims that are the reason.
package authn
