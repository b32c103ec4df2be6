package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrigins_says_where_each_secret_stands(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := write(t, `
tenant = "9900357000003"
makod_url = "http://makod:8080"
makod_api_key = "in-the-file"
inbound_hmac_secret = ["env:IN", "file:`+file+`"]
erp_webhook_url = "https://erp.example/?token=t"
erp_hmac_secret = "env:ERP"
[database]
url = "postgres://sperrd:p@db/sperrd"
[mcp]
api_key = "env:MCP"
`)
	got, err := Origins(path, env("IN", "in", "ERP", "erp", "MCP", "mcp"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Origin{
		{Key: "makod_api_key", Value: NewSecret("in-the-file"), Plain: true},
		{Key: "inbound_hmac_secret[0]", Value: NewSecret("in")},
		{Key: "inbound_hmac_secret[1]", Value: NewSecret("from-a-file"), File: file},
		{Key: "erp_webhook_url", Value: NewSecret("https://erp.example/?token=t"), Plain: true},
		{Key: "erp_hmac_secret", Value: NewSecret("erp")},
		{Key: "database.url", Value: NewSecret("postgres://sperrd:p@db/sperrd"), Plain: true},
		{Key: "mcp.api_key", Value: NewSecret("mcp")},
	}
	if diff := cmp.Diff(want, got, sameSecret); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
}

func TestOrigins_leaves_out_URLs_that_hide_nothing(t *testing.T) {
	t.Parallel()
	for url, secret := range map[string]bool{
		"postgres://db/sperrd": false, "postgres://sperrd@db/sperrd?sslmode=require": false,
		"postgres://sperrd:p@db/sperrd": true, "postgres://db/sperrd?user=u&password=p": true, "postgres://db/sperrd?sslpassword=p": true,
		"https://erp.example/events": false, "https://erp.example/events?key": true,
	} {
		key := "[database]\nurl"
		if strings.HasPrefix(url, "https") {
			key = erpWebhookURL
		}
		got, err := Origins(write(t, key+" = \""+url+"\"\n"), env())
		if err != nil || (len(got) == 1) != secret {
			t.Errorf("%s: %v, %v; want it there: %t", url, got, err, secret)
		}
	}
}

// A secret that is added and not named among secretKeys would be judged by nobody.
func TestOrigins_knows_every_secret_of_the_configuration(t *testing.T) {
	t.Parallel()
	var count func(reflect.Type) int
	count = func(of reflect.Type) (n int) {
		switch {
		case of == reflect.TypeFor[Secret]() || of == reflect.TypeFor[[]Secret]():
			return 1
		case of.Kind() != reflect.Struct:
			return 0
		}
		for field := range of.Fields() {
			n += count(field.Type)
		}
		return n
	}
	if n := count(reflect.TypeFor[Config]()); n != len(secretKeys) {
		t.Errorf("%d secrets in Config, %d in secretKeys", n, len(secretKeys))
	}
}

func TestClearText_names_what_leaves_the_machine_unencrypted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		makod, erp string
		want       []string
	}{
		{"http://makod:8080", "http://erp.example/?token=t", []string{"makod_url", "erp_webhook_url"}},
		{"https://makod:8080", "https://erp.example", nil},
		{"http://localhost:8080", "http://127.0.0.1", nil},
		{"http://[::1]:8080", "", nil},
	} {
		config := Config{MakodURL: c.makod, ERPWebhookURL: NewSecret(c.erp)}
		if diff := cmp.Diff(c.want, config.ClearText()); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.makod, c.erp, diff)
		}
	}
}
