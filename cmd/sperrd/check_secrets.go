package main

import (
	"encoding/base64"
	"fmt"
	"strings"

	"sperrd/internal/config"
)

const (
	// goodSecret and leastSecret are lengths in bytes of a secret that signs: that of
	// SHA-256's output, below which RFC 2104 advises against a key, and half of it.
	goodSecret  = 32
	leastSecret = 16
	// fewCharacters is what a text that a machine made of 32 bytes hardly ever falls below.
	fewCharacters = 8
)

// wellKnown are parts of secrets that people put in for a time, and what they take from
// the documentation.
var wellKnown = []string{
	"changeme", "change-me", "change_me", "changeit", "replaceme", "replace-me", "replace_me", "placeholder", "insecure",
	"secret", "password", "passwort", "geheim", "example", "beispiel", "default", "sperrd", "testtest", "123456", "qwerty", "qwertz",
}

// secrets judges how well the secrets are chosen and kept. No line holds one, nor how long
// it is: that would tell whoever reads the line how long to try.
func (f *findings) secrets(p *process) {
	const what = "secrets"
	origins, err := config.Origins(p.configPath(), p.lookupEnv)
	if err != nil {
		f.fail(what, err.Error(), "let this user read the configuration file")
		return
	}
	before := len(f.list)
	for _, o := range origins {
		f.secretStrength(o)
	}
	f.sameSecrets(origins)
	f.secretPlaces(p.configPath(), origins)
	if len(f.list) == before {
		f.ok(what, fmt.Sprintf("%d, none of them weak or lying open", len(origins)))
	}
}

// secretStrength judges one secret that somebody could guess. What stands in a URL is
// another server's to judge.
func (f *findings) secretStrength(o config.Origin) {
	signs := strings.Contains(o.Key, "hmac_secret")
	if !signs && !strings.HasSuffix(o.Key, "api_key") {
		return
	}
	faults := weaknesses(o.Value.Reveal(), signs)
	if len(faults) == 0 {
		return
	}
	todo := `make another one with "openssl rand -hex 32" and give it to both sides`
	if strings.HasPrefix(o.Key, "inbound") {
		todo += ", inbound_hmac_secret takes a list meanwhile"
	}
	f.warn("secrets", o.Key+" "+strings.Join(faults, " and "), todo)
}

// weaknesses are what makes a secret easy to guess. One that signs can be tried by whoever
// has seen a single signed message, at any speed; a key for an API only against it.
func weaknesses(secret string, signs bool) []string {
	material := len(secret)
	text, encoded := strings.CutPrefix(secret, "whsec_")
	if key, err := base64.StdEncoding.DecodeString(text); encoded && err == nil {
		material = len(key)
	}
	var faults []string
	switch {
	case material < leastSecret:
		faults = append(faults, fmt.Sprintf("is INSECURE, shorter than %d bytes,", leastSecret))
	case signs && material < goodSecret:
		faults = append(faults, fmt.Sprintf("is shorter than %d bytes", goodSecret))
	}
	different := make(map[rune]bool)
	for _, r := range text {
		different[r] = true
	}
	if len(different) < fewCharacters {
		faults = append(faults, fmt.Sprintf("has fewer than %d different characters", fewCharacters))
	}
	for _, word := range wellKnown {
		if strings.Contains(strings.ToLower(text), word) {
			faults = append(faults, "contains a word that everybody tries")
			break
		}
	}
	return faults
}

// sameSecrets finds a value that stands for two things: who learns it from one of them has
// the other too.
func (f *findings) sameSecrets(origins []config.Origin) {
	first := make(map[string]string)
	for _, o := range origins {
		value := o.Value.Reveal()
		if key, again := first[value]; again {
			f.warn("secrets", fmt.Sprintf("%s has the same value as %s", o.Key, key), "give each its own")
			continue
		}
		first[value] = o.Key
	}
}
