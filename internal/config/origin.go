package config

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Origin is a secret of a configuration file and where its value stands.
type Origin struct {
	// Key is the key with its section; an entry of a list has its place, from 0:
	// "inbound_hmac_secret[1]".
	Key   string
	Value Secret
	// Plain tells that the value stands in the configuration file itself.
	Plain bool
	// File is the file that holds the value, if it is a reference to one.
	File string
}

// secretKeys are the keys whose values nobody else may see: of an URL only one that holds
// a password or a token.
var secretKeys = []string{"makod_api_key", inboundHMACSecret, erpWebhookURL, erpHMACSecret, "database.url", mcpAPIKey}

// Origins reads a file that Load takes once more and returns its secrets, in the order of
// the documentation.
func Origins(path string, getenv func(string) (string, bool)) ([]Origin, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	doc, problem := parse(content, getenv)
	if problem != nil {
		return nil, newError(path, []Problem{*problem})
	}
	var origins []Origin
	for _, key := range secretKeys {
		raw, _ := doc.lookup(key)
		list, isList := raw.([]any)
		if !isList {
			origins = doc.appendOrigin(origins, key, raw)
			continue
		}
		for i, entry := range list {
			origins = doc.appendOrigin(origins, fmt.Sprintf("%s[%d]", key, i), entry)
		}
	}
	return origins, nil
}

// appendOrigin appends nothing for a value that is missing, wrong or no secret.
func (d *document) appendOrigin(origins []Origin, key string, raw any) []Origin {
	text, ok := raw.(string)
	if !ok {
		return origins
	}
	value, source, err := resolve(text, d.env)
	if err != nil || strings.HasSuffix(key, "url") && !hidesSomething(value) {
		return origins
	}
	file, _ := strings.CutPrefix(text, filePrefix)
	if file == text {
		file = ""
	}
	return append(origins, Origin{Key: key, Value: NewSecret(value), Plain: source == "", File: file})
}

// hidesSomething reports whether a URL holds more than a place: a password, or a query in
// which there may be a token. That of a database has known parameters.
func hidesSomething(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return true
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return u.RawQuery != ""
	}
	_, password := u.User.Password()
	return password || u.Query().Has("password") || u.Query().Has("sslpassword")
}
