package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/werktag"
)

// A service that settles a refused delivery wrong ends the story, in whichever way it does.
func TestStory_stops_when_a_refused_message_is_not_settled_as_it_should(t *testing.T) {
	t.Parallel()
	const reason = "malo_id has check digit 2, but 1 would fit."
	const dismissed = `{"settlement":"dismissed","settled_by":"disponent","settlement_reason":"MaLo vertippt, der Lieferant bestellt neu"}`
	for name, c := range map[string]struct {
		status              int // of the replay
		reason, open, after string
		says                string // empty: all is well
	}{
		"right":              {422, reason, "{}", dismissed, ""},
		"taken":              {201, "", "{}", dismissed, "expected 422"},
		"another reason":     {422, "no idea", "{}", dismissed, "the replay is refused with"},
		"settled by refusal": {422, reason, dismissed, dismissed, "the refused replay has settled"},
		"not dismissed":      {422, reason, "{}", "{}", "the delivery is nothing by nothing"},
		"by somebody else":   {422, reason, "{}", strings.ReplaceAll(dismissed, "disponent", "kollege"), "dismissed by kollege"},
		"for another reason": {422, reason, "{}", strings.ReplaceAll(dismissed, "vertippt", "falsch"), "MaLo falsch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := c.open
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(headerTransactionID, r.Header.Get(headerTransactionID))
				w.Header().Set(headerReferenceID, r.Header.Get(headerTransactionID))
				switch {
				case strings.HasSuffix(r.URL.Path, "/replay"):
					w.WriteHeader(c.status)
					fmt.Fprintf(w, `{"code":"unusable_event","detail":%q}`, c.reason)
				case strings.HasSuffix(r.URL.Path, "/dismiss"):
					row = c.after
					w.WriteHeader(http.StatusNoContent)
				default:
					fmt.Fprint(w, row)
				}
			}))
			defer service.Close()
			s := newStory(beside(t, service.URL), werktag.BerlinDay(time.Now()))
			s.nothingCanComeOfIt(t.Context(), reject{ID: uuid.New(), Reason: reason})
			if (s.err == nil) != (c.says == "") || s.err != nil && !strings.Contains(s.err.Error(), c.says) {
				t.Errorf("the story ends with %v, want %q", s.err, c.says)
			}
		})
	}
}
