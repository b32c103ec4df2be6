package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sperrd/internal/werktag"
)

// command is something a person can try next.
type command struct {
	what   string
	method string
	url    string
	body   string // JSON, empty for none
}

// curl is the command as it is typed.
func (c command) curl() string {
	text := "curl -s"
	if c.method != http.MethodGet {
		text += "i -X " + c.method // shows the status: a 204 says nothing else
	}
	text += " '" + c.url + "'"
	if c.body != "" {
		text += " -H 'Content-Type: application/json' -d '" + c.body + "'"
	}
	return text
}

// handOver lets four more orders come in and prints what a person can do with
// them, each command ready to be pasted.
func (n *neighbourhood) handOver(ctx context.Context) error {
	now := time.Now()
	var ids []string
	for range 4 {
		id, err := n.market.order(ctx, newEvent(earliestDate, now, werktag.BerlinDay(now)))
		if err != nil {
			return fmt.Errorf("let more orders come in: %w", err)
		}
		ids = append(ids, id)
	}
	fmt.Fprintf(n.stdout, "\nNow you. Four more orders wait; Ctrl-C ends everything.\n\n")
	for _, c := range n.commands(ids[0], ids[1], ids[2], ids[3]) {
		fmt.Fprintf(n.stdout, "  # %s\n  %s\n", c.what, c.curl())
	}
	return nil
}

func (n *neighbourhood) commands(execute, fail, cancel, queue string) []command {
	api := n.sperrd.base + ordersPath
	create := `{"malo_id":"` + drawMaloID() + `","lf_mp_id":"` + lieferant + `","order_type":"entsperrung","arbeitszeit":"auch_ausserhalb"}`
	return []command{
		{"what is due", http.MethodGet, api + "?due=true", ""},
		{"one order", http.MethodGet, api + "/" + execute, ""},
		{"it was carried out", http.MethodPut, api + "/" + execute + "/execute", `{"note":"Siegel 4712"}`},
		{"a visit in vain; a second one closes the order", http.MethodPut, api + "/" + fail + "/fail", `{"reason":"niemand angetroffen","pruefschritt_code":"A08"}`},
		{"it is not wanted any more", http.MethodPut, api + "/" + cancel + "/cancel", `{"reason":"Rechnung bezahlt"}`},
		{"an order of your own", http.MethodPost, api, create},
		{"what happened to an order", http.MethodGet, api + "/" + execute + "/history", ""},
		{"the counters", http.MethodGet, api + "/stats", ""},
		{"signed events that were refused", http.MethodGet, n.sperrd.base + "/api/v1/webhook-rejects", ""},
		{"the market orders: 17115 or 17117", http.MethodPost, n.adminURL + "/spawn?pid=17117", ""},
		{"makod fails from now on: down, drop, lost, error, busy or hang", http.MethodPost, n.adminURL + "/makod/fault?kind=down", ""},
		{"a report meanwhile is kept, and sent again for some seconds", http.MethodPut, api + "/" + queue + "/execute", ""},
		{"it works again", http.MethodPost, n.adminURL + "/makod/fault?kind=none", ""},
		{"if its attempts are spent by now, they begin anew", http.MethodPost, api + "/" + queue + "/iftsta/reset", `{"reason":"makod works again"}`},
		{"the ERP fails from now on: down, busy, refuse or hang", http.MethodPost, n.adminURL + "/erp/fault?kind=busy", ""},
		{"and works again", http.MethodPost, n.adminURL + "/erp/fault?kind=none", ""},
		{"what the ERP knows", http.MethodGet, n.adminURL + "/erp/events", ""},
		{"what the Lieferanten know", http.MethodGet, n.adminURL + "/iftsta", ""},
	}
}
