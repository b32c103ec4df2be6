package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoad_ERP_URL_and_secret_go_together(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`erp_webhook_url = "https://erp.example"`:              "erp_hmac_secret: is required with erp_webhook_url: it signs what goes there",
		`erp_webhook_url = 1` + "\n" + `erp_hmac_secret = "x"`: "line 1: erp_webhook_url: must be a string in quotes",
		`erp_hmac_secret = "x"`:                                "line 1: erp_hmac_secret: is set without erp_webhook_url, so no event goes out",
	} {
		if diff := cmp.Diff([]string{want}, problems(t, line+"\n"+minimal, env())); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", line, diff)
		}
	}
}

func TestLoad_ERP_URL_that_cannot_be_posted_to_is_refused_and_not_shown(t *testing.T) {
	t.Parallel()
	set := env("NEWLINE", "https://erp.example/Geheimnis\n\n")
	for url, want := range map[string]string{
		"erp.example/Geheimnis":                        "must be a URL that begins with http:// or https://",
		"ftp://erp.example/Geheimnis":                  "must be a URL that begins with http:// or https://",
		"https:///Geheimnis":                           "names a host",
		"https://erp.example:Geheimnis":                "must be a URL",
		"https://erp.example/%Geheimnis":               "must be a URL",
		"https://user:Geheimnis@erp.example":           "must not hold a user or a password",
		"https://Geheimnis@erp.example":                "must not hold a user or a password",
		"https://erp.example/events#Geheimnis":         "must not hold a fragment",
		"https://erp.example/events#":                  "must not hold a fragment",
		"https://erp.example/events?token=Geheimnis b": "percent-encoded in its query",
		"https://erp.example/events?token=Geheimniß":   "percent-encoded in its query",
		"env:NEWLINE":                                  "(environment variable NEWLINE): must be a URL",
		"env:UNSET":                                    "(environment variable UNSET): is not set",
		"":                                             "is blank",
	} {
		got := problems(t, "erp_webhook_url = \""+url+"\"\nerp_hmac_secret = \"x\"\n"+minimal, set)
		if len(got) != 1 || !strings.Contains(got[0], "erp_webhook_url") || !strings.Contains(got[0], want) || strings.Contains(got[0], "Geheimni") {
			t.Errorf("%s: problems = %q; want one with %q", url, got, want)
		}
	}
}

// Under any of these everybody could sign.
func TestLoad_ERP_secret_that_is_none_is_refused(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`""`:                 "erp_hmac_secret: is blank",
		`"  "`:               "erp_hmac_secret: is blank",
		`"whsec_"`:           "erp_hmac_secret: has nothing decodable after whsec_",
		`"whsec_%%"`:         "erp_hmac_secret: has nothing decodable after whsec_",
		`"env:UNSET"`:        "erp_hmac_secret (environment variable UNSET): is not set",
		`["one", "another"]`: "erp_hmac_secret: must be a string in quotes",
	} {
		got := problems(t, "erp_webhook_url = \"https://erp.example\"\nerp_hmac_secret = "+value+"\n"+minimal, env())
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: problems = %q; want one with %q", value, got, want)
		}
	}
}
