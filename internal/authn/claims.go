package authn

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// leeway is how far the provider's clock may differ from this one.
	leeway = 60 * time.Second
	// maxSubject bounds a subject, in characters (OpenID Connect Core, 2: 255).
	maxSubject = 255
	// lastSecond is the end of the year 9999.
	lastSecond = 253402300799
)

// Claims are what a good token says about its owner.
type Claims struct {
	// Issuer and Subject together are somebody, whatever token he comes with.
	Issuer, Subject string
	// Tenant is mako_tenant, empty where that is missing or no string.
	Tenant string
	// Roles is mako_roles, nil where that is missing or anything but an array of
	// strings: one odd entry, and none of them counts.
	Roles []string
	// Ignored says why tenant or roles were left out although the token has them,
	// for the log of a denial. It holds no value of a claim and is usually empty.
	Ignored string
}

// read are the claims by which a token is judged here or in the library, which does
// not mind their case.
var read = []string{
	"iss", "sub", "aud", "exp", "nbf", "typ", "nonce", "at_hash", "c_hash", "mako_tenant", "mako_roles",
}

// readClaims judges a payload whose signature, issuer and audience are right.
func readClaims(payload []byte, h header, now time.Time) (Claims, error) {
	members, err := readObject(payload)
	if err != nil {
		return Claims{}, refuse("claims: %v", err)
	}
	for name := range members {
		same := func(known string) bool { return name != known && strings.EqualFold(name, known) }
		if i := slices.IndexFunc(read, same); i >= 0 {
			return Claims{}, refuse("claim %q differs from %q in case only", name, read[i])
		}
	}
	if err := checkKind(members, h); err != nil {
		return Claims{}, err
	}
	if err := checkTime(members, now); err != nil {
		return Claims{}, err
	}
	subject, err := readSubject(members["sub"])
	if err != nil {
		return Claims{}, err
	}
	c := Claims{Subject: subject}
	c.readTenantAndRoles(members)
	return c, nil
}

// checkKind refuses the provider's other tokens, which the same keys sign: an ID
// token tells a client who has logged in and is no permission to call a service.
func checkKind(members map[string]jsontext.Value, h header) error {
	isAccess := h.isAccess
	if value, present := members["typ"]; present {
		typ, _ := text(value)
		if !strings.EqualFold(typ, "Bearer") { // as Keycloak marks its access tokens
			return refuse("typ %q is not that of an access token", typ)
		}
		isAccess = true
	}
	if isAccess {
		return nil
	}
	for _, name := range []string{"nonce", "at_hash", "c_hash"} {
		if _, present := members[name]; present {
			return refuse("an ID token, as %q shows, and no access token", name)
		}
	}
	return nil
}

func checkTime(members map[string]jsontext.Value, now time.Time) error {
	expiry, err := readTime(members["exp"])
	if err != nil {
		return refuse("exp is %v", err)
	}
	if !now.Before(expiry.Add(leeway)) {
		at := expiry.UTC().Format(time.RFC3339)
		return &TokenError{Expired: true, reason: "expired at " + at}
	}
	value, present := members["nbf"]
	if !present {
		return nil
	}
	notBefore, err := readTime(value)
	if err != nil {
		return refuse("nbf is %v", err)
	}
	if now.Before(notBefore.Add(-leeway)) {
		return refuse("not valid before %s", notBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

var (
	errMissing  = errors.New("missing")
	errNoNumber = errors.New("not a number")
	errNoTime   = errors.New("not within the years 1970 to 9999")
)

// readTime reads seconds since 1970, which may have a fraction (RFC 7519, 2). What
// is beyond the year 9999 would overflow sooner or later and then lie in the past
// or never end.
func readTime(value jsontext.Value) (time.Time, error) {
	switch {
	case value == nil:
		return time.Time{}, errMissing
	case value.Kind() != '0':
		return time.Time{}, errNoNumber
	}
	seconds, err := strconv.ParseFloat(string(value), 64)
	if err != nil || seconds < 0 || seconds > lastSecond {
		return time.Time{}, errNoTime
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*float64(time.Second))), nil
}

// readSubject reads the name under which the history of an order keeps the caller.
func readSubject(value jsontext.Value) (string, error) {
	subject, ok := text(value)
	switch {
	case !ok || subject == "":
		return "", refuse("sub is missing, empty or not a string")
	case utf8.RuneCountInString(subject) > maxSubject:
		return "", refuse("sub is longer than %d characters", maxSubject)
	case strings.ContainsFunc(subject, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", refuse("sub has a character that cannot be seen")
	case strings.TrimSpace(subject) != subject:
		return "", refuse("sub begins or ends with a blank")
	}
	return subject, nil
}

// readTenantAndRoles takes both only in the one shape in which they count. To guess
// what another one means would be to guess what somebody may do.
func (c *Claims) readTenantAndRoles(members map[string]jsontext.Value) {
	var ignored []string
	if value, present := members["mako_tenant"]; present {
		tenant, ok := text(value)
		if !ok {
			ignored = append(ignored, "mako_tenant is "+nature(value)+", not a string")
		}
		c.Tenant = tenant
	}
	if value, present := members["mako_roles"]; present {
		roles, why := readRoles(value)
		if why != "" {
			ignored = append(ignored, "mako_roles "+why)
		}
		c.Roles = roles
	}
	c.Ignored = strings.Join(ignored, "; ")
}

// readRoles returns the strings of an array, or no role at all and why.
func readRoles(value jsontext.Value) (roles []string, why string) {
	if value.Kind() != '[' {
		return nil, "is " + nature(value) + ", not an array of strings"
	}
	roles, ok := texts(value)
	if !ok {
		return nil, "does not hold strings alone"
	}
	return roles, ""
}
