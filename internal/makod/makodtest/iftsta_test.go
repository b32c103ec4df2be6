package makodtest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const fullExecute = `{"command":"gpke.sperrung.bestaetigen","marktrolle":"NB","payload":{` +
	`"malo_id":"51238696012","lf_mp_id":"9900012345678","process_id":"` + id2 + `",` +
	`"auftragsstatus_qualifier":"Z37","auftragsstatus_code":"Z14","pruefschritt_code":"A07",` +
	`"fertigstellung":"2026-09-01T07:45:00Z","note":"TW-2026-0901-001"}}`

func TestIFTSTA_carries_what_the_command_said(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	if w := post(s, "k1", fullExecute); w.Code != 202 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	wanted := []IFTSTA{{
		ProcessID: id1, MaloID: malo1, LieferantID: "9900012345678", Qualifier: "Z37", Code: "Z14", Pruefschritt: "A07",
		Fertigstellung: time.Date(2026, 9, 1, 7, 45, 0, 0, time.UTC), Text: "TW-2026-0901-001", Key: "k1", At: tuesday,
	}}
	if diff := cmp.Diff(wanted, s.IFTSTAFor(malo1)); diff != "" {
		t.Error(diff)
	}
	if n := len(s.IFTSTAFor(malo2)); n != 0 {
		t.Errorf("%d IFTSTA for another MaLo", n)
	}
}

func TestIFTSTA_text_falls_into_the_null_trap(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		command, payload string
		status           int
		text             string
	}{
		{"bestaetigen", ``, 202, ""},
		{"bestaetigen", `,"note":"n"`, 202, "n"},
		{"bestaetigen", `,"reason":"r","note":"n"`, 202, "r"},
		{"bestaetigen", `,"reason":null,"note":"n"`, 202, ""},
		{"fehlgeschlagen", ``, 422, ""},
		{"fehlgeschlagen", `,"reason":"r"`, 202, "r"},
		{"fehlgeschlagen", `,"note":"n"`, 202, "n"},
		{"fehlgeschlagen", `,"reason":""`, 202, ""},
		{"fehlgeschlagen", `,"reason":null,"note":"n"`, 422, ""},
		{"fehlgeschlagen", `,"reason":7`, 422, ""},
	} {
		s, _ := newServer(t)
		w := post(s, "k1", `{"command":"gpke.sperrung.`+tc.command+`","payload":{"malo_id":"`+malo1+`"`+tc.payload+`}}`)
		if w.Code != tc.status {
			t.Errorf("%s %s: %d %s", tc.command, tc.payload, w.Code, w.Body)
		}
		if sent := s.IFTSTA(); tc.status == 202 && (len(sent) != 1 || sent[0].Text != tc.text) {
			t.Errorf("%s %s: %+v", tc.command, tc.payload, sent)
		}
	}
}

func TestIFTSTA_Fertigstellung_lies_not_after_the_document(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code, at string
		status   int
	}{
		{"Z14", "2026-09-01T08:00:00Z", 202},
		{"Z14", "2026-09-01T10:00:00+02:00", 202},
		{"Z14", "2026-09-01T08:00:01Z", 422},
		{"Z13", "2026-09-01T08:00:01Z", 202}, // DTM+293 belongs to Z14
		{"Z13", "2026-09-01", 422},
	} {
		s, _ := newServer(t)
		w := post(s, "k1", strings.NewReplacer("2026-09-01T07:45:00Z", tc.at, "Z14", tc.code).Replace(fullExecute))
		if w.Code != tc.status {
			t.Errorf("%s %s: %d %s", tc.code, tc.at, w.Code, w.Body)
		}
		if p, _ := s.Process(id1); (p.State == StateAusgefuehrt) != (tc.status == 202) {
			t.Errorf("%s %s: process is %s", tc.code, tc.at, p.State)
		}
	}
}

func TestMaloID(t *testing.T) {
	t.Parallel()
	for id, valid := range map[string]bool{
		malo1: true, malo2: true,
		"51238696782": false, "50123456784": false,
		"": false, "5123869601": false, "512386960120": false, "5123869601a": false, "５1238696012": false,
	} {
		if validMaloID(id) != valid {
			t.Errorf("%q: want %v", id, valid)
		}
	}
}
