package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/outbox/erptest"
)

// Whoever reads the log or the traces must not learn where somebody lives, what the field
// team wrote or what opens a door.
func TestLog_and_traces_hold_no_address_no_free_text_and_no_secret(t *testing.T) {
	t.Parallel()
	collected := newSpans(t)
	n := newNeighbourhood(t, fmt.Sprintf("[log]\nlevel = \"debug\"\n[tracing]\nendpoint = %q\n", collected.url))
	i := n.replicas(t, 1)[0]
	markers := []string{"Marktweg", "Markthausen", "Marktnotiz", "Marktgrund", "Markthinweis", hmacSecret, makodSecret, erpSecret}
	order := func(malo string) string {
		return n.queued(t, i, n.sperrauftrag(t, malo, map[string]any{"fruehestens_am": "20260831", "hinweis": "Markthinweis", "treffpunkt": map[string]any{
			"hinweis": "Markthinweis", "strasse": "Marktweg 7", "plz": "01067", "ort": "Markthausen", "land": "DE",
		}}))
	}
	call := func(method, path, body string, want int) {
		t.Helper()
		status, answer, err := i.call(t.Context(), method, path, body)
		if err != nil || status != want {
			t.Fatalf("%s %s: %d %s, %v", method, path, status, answer, err)
		}
	}
	n.erp.FailNext(1, erptest.Answer(http.StatusUnprocessableEntity))
	first, second := order(maloID(1)), order(maloID(2))
	const orders = "/api/v1/sperr-orders/"
	call("PUT", orders+first+"/execute?dry_run=true", `{"note":"Marktnotiz"}`, http.StatusOK)
	n.FailNext(1, makodtest.ProcessNotFound())
	call("PUT", orders+first+"/execute", `{"note":"Marktnotiz"}`, http.StatusAccepted)
	call("POST", orders+first+"/iftsta/reset", `{"reason":"Marktgrund"}`, http.StatusNoContent)
	call("PUT", orders+second+"/fail", `{"reason":"Marktgrund","pruefschritt_code":"A08"}`, http.StatusAccepted)
	call("PUT", orders+second+"/cancel", `{"reason":"Marktgrund"}`, http.StatusNoContent)
	call("POST", orders[:len(orders)-1], `{"malo_id":"Marktweg","lf_mp_id":"x","order_type":"Marktgrund","hinweis":"Markthinweis"}`, http.StatusUnprocessableEntity)
	call("GET", orders[:len(orders)-1]+"?malo_id=Marktweg", "", http.StatusBadRequest)
	n.deliver(t, i, []byte(`{"Marktweg":`), hmacSecret)
	n.deliver(t, i, []byte(`{}`), "Marktgeheimnis-0123456789")
	awaitLines(t, 1, "IFTSTA dispatched", i)
	awaitLines(t, 1, "event is a dead letter", i)
	i.stop()
	i.awaitExit(t)

	log, spans := i.log.String(), collected.text()
	if strings.Count(log, `"msg":"request"`) < 10 || strings.Count(spans, "\n") < 20 {
		t.Fatalf("%d requests in the log, %d spans", strings.Count(log, `"msg":"request"`), strings.Count(spans, "\n"))
	}
	for _, marker := range append(markers, "Marktgeheimnis") {
		for where, text := range map[string]string{"log": log, "traces": spans} {
			for line := range strings.Lines(text) {
				if strings.Contains(line, marker) {
					t.Errorf("the %s tells %s: %s", where, marker, line)
				}
			}
		}
	}
}
