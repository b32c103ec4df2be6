package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const inboundHMACSecret = "inbound_hmac_secret"

// inboundHMACSecrets returns one secret or a list of them; none when the key is
// missing. A key that is there and holds nothing is always wrong, also where no
// secret is needed: it means that somebody believes there is one.
func (d *document) inboundHMACSecrets() []Secret {
	raw, ok := d.lookup(inboundHMACSecret)
	if !ok {
		return nil
	}
	list, isList := raw.([]any)
	if !isList {
		return d.appendHMACSecret(nil, inboundHMACSecret, raw)
	}
	if len(list) == 0 {
		d.report(inboundHMACSecret, "is an empty list")
	}
	var secrets []Secret
	for i, entry := range list {
		element := fmt.Sprintf("%s[%d]", inboundHMACSecret, i)
		d.lines[element] = d.lines[inboundHMACSecret]
		secrets = d.appendHMACSecret(secrets, element, entry)
	}

	return secrets
}

func (d *document) appendHMACSecret(secrets []Secret, key string, raw any) []Secret {
	if secret, ok := d.hmacSecret(key, raw); ok {
		return append(secrets, secret)
	}

	return secrets
}

// hmacSecret returns one secret, from the raw value of key.
func (d *document) hmacSecret(key string, raw any) (secret Secret, ok bool) {
	value, ok := d.resolveText(key, raw)
	if !ok {
		return Secret{}, false
	}
	if err := checkHMACSecret(value); err != nil {
		d.report(key, "%s", err)
		return Secret{}, false
	}

	return NewSecret(value), true
}

// checkHMACSecret refuses a secret that announces the form of the Standard
// Webhooks libraries and has no key in it: under that reading everybody could
// sign.
func checkHMACSecret(value string) error {
	encoded, ok := strings.CutPrefix(value, "whsec_")
	if !ok {
		return nil
	}
	if key, err := base64.StdEncoding.DecodeString(encoded); err != nil || len(key) == 0 {
		return errors.New("has nothing decodable after whsec_, where the key must follow in base64")
	}

	return nil
}
