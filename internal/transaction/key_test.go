package transaction

import "testing"

func TestShown_cuts_one_prefix(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"k-1":                                  "k-1",
		KeyPrefix + "k-1":                      "k-1",
		KeyPrefix + KeyPrefix + "k":            KeyPrefix + "k",
		"0b1e9a52-7c1d-4a2e-9f00-000000000001": "0b1e9a52-7c1d-4a2e-9f00-000000000001",
	} {
		if got := Shown(id); got != want {
			t.Errorf("Shown(%q) = %q, want %q", id, got, want)
		}
	}
}
