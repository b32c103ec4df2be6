package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sperrd/internal/werktag"
)

// command is something a person can type next.
type command struct{ what, text string }

// curl is a request as it is typed. A body is JSON, an empty one is none; each header
// stands in the quotes that the shell needs.
func curl(method, url, body string, headers ...string) string {
	text := "curl -s"
	if method != http.MethodGet {
		text += "i -X " + method // shows the status: a 204 says nothing else
	}
	text += " '" + url + "'"
	for _, header := range headers {
		text += " -H " + header
	}
	if body != "" {
		text += " -H 'Content-Type: application/json' -d '" + body + "'"
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
		fmt.Fprintf(n.stdout, "  # %s\n  %s\n", c.what, c.text)
	}
	return nil
}

func (n *neighbourhood) commands(execute, fail, cancel, queue string) []command {
	api := func(method, path, body string, headers ...string) string {
		if n.IdempotencyRequired && method != http.MethodGet && len(headers) == 0 {
			headers = newIdentifiers().typed()
		}
		return curl(method, n.sperrd.base+ordersPath+path, body, append([]string{bearer("$token")}, headers...)...)
	}
	const visit = `{"reason":"niemand angetroffen","pruefschritt_code":"A08"}`
	ids := newIdentifiers()
	admin := func(method, path string) string { return curl(method, n.adminURL+path, "") }
	commands := []command{
		{"a token first: for the disponent of this Netzbetreiber, good for an hour", n.tokenCommand("token", asDisponent)},
		{"what is due", api(http.MethodGet, "?due=true", "")},
		{"the same for a spreadsheet, sorted for a route", api(http.MethodGet, "?due=true", "", "'Accept: text/csv'")},
		{"one order", api(http.MethodGet, "/"+execute, "")},
		{"what a report would do: a dry run changes nothing", api(http.MethodPut, "/"+execute+"/execute?dry_run=true", `{"note":"Siegel 4712"}`)},
		{"it was carried out", api(http.MethodPut, "/"+execute+"/execute", `{"note":"Siegel 4712"}`)},
		{"a visit in vain, under an id by which it is known again", api(http.MethodPut, "/"+fail+"/fail", visit, ids.typed()...)},
		{"no answer came? Once more: a new id, and the first one. It is still one visit; a second one has a new id alone", api(http.MethodPut, "/"+fail+"/fail", visit, ids.again().typed()...)},
		{"it is not wanted any more", api(http.MethodPut, "/"+cancel+"/cancel", `{"reason":"Rechnung bezahlt"}`)},
		{"an order of your own", api(http.MethodPost, "", `{"malo_id":"`+drawMaloID()+`","lf_mp_id":"`+lieferant+`","order_type":"entsperrung","arbeitszeit":"auch_ausserhalb"}`)},
		{"what happened to an order", api(http.MethodGet, "/"+execute+"/history", "")},
		{"the counters", api(http.MethodGet, "/stats", "")},
		{"signed events that were refused, and how each was settled", curl(http.MethodGet, n.sperrd.base+rejectsPath+"?status=all", "", bearer("$token"))},
	}
	if n.IdempotencyRequired {
		commands = append(commands, command{"a call without ids is refused: 400", curl(http.MethodPut, n.sperrd.base+ordersPath+"/"+queue+"/execute", "", bearer("$token"))})
	}
	commands = append(commands, n.kollegeCommands(fail, visit, ids)...)
	commands = append(commands, n.othersCommands(queue)...)
	return append(commands, []command{
		{"the market orders: 17115 or 17117", admin(http.MethodPost, "/spawn?pid=17117")},
		{"makod fails from now on: down, drop, lost, error, busy or hang", admin(http.MethodPost, "/makod/fault?kind=down")},
		{"a report meanwhile is kept, and sent again for some seconds", api(http.MethodPut, "/"+queue+"/execute", "")},
		{"it works again", admin(http.MethodPost, "/makod/fault?kind=none")},
		{"if its attempts are spent by now, they begin anew", api(http.MethodPost, "/"+queue+"/iftsta/reset", `{"reason":"makod works again"}`)},
		{"the ERP fails from now on: down, busy, refuse or hang", admin(http.MethodPost, "/erp/fault?kind=busy")},
		{"what it does not have, as an operator asks; with the same start each command of sperrd works, as iftsta list or check", n.command.typed("outbox", "list")},
		{"and works again", admin(http.MethodPost, "/erp/fault?kind=none")},
		{"what the ERP knows", admin(http.MethodGet, "/erp/events")},
		{"what the Lieferanten know", admin(http.MethodGet, "/iftsta")},
	}...)
}

// kollegeCommands are those of another dispatcher, who repeats a visit of the disponent.
func (n *neighbourhood) kollegeCommands(order, visit string, ids identifiers) []command {
	return []command{
		{"be a colleague, who may do as much", n.tokenCommand("kollege", asKollege)},
		{"but repeats no call of the disponent's: 409", curl(http.MethodPut, n.sperrd.base+ordersPath+"/"+order+"/fail", visit,
			append([]string{bearer("$kollege")}, ids.again().typed()...)...)},
	}
}

// othersCommands are those of who may not report an order, and of a language model.
func (n *neighbourhood) othersCommands(order string) []command {
	execute := n.sperrd.base + ordersPath + "/" + order + "/execute"
	return []command{
		{"be a Lieferant, whose role is not NB", n.tokenCommand("lf", asLieferant)},
		{"and be refused: 403", curl(http.MethodPut, execute, "", bearer("$lf"))},
		{"be another Netzbetreiber; the account " + asOhneAudience + " gets tokens for another service, which are 401", n.tokenCommand("nb", asFremderNB)},
		{"and be refused: 403", curl(http.MethodPut, execute, "", bearer("$nb"))},
		{"what a language model can ask; the key may only read", curl(http.MethodPost, n.sperrd.base+mcpPath, listTools,
			bearer(n.mcpKey), "'Accept: "+mcpAccept+"'")},
	}
}

// bearer is the header in which a token or a key is shown; the shell fills in a variable.
func bearer(token string) string { return `"Authorization: Bearer ` + token + `"` }

// typed are the headers that name a call. Its time is the one at which it is typed.
func (i identifiers) typed() []string {
	headers := []string{"'" + headerTransactionID + ": " + i.id + "'"}
	if i.initial != "" {
		headers = append(headers, "'"+headerInitialTransactionID+": "+i.initial+"'")
	}
	return append(headers, `"`+headerCreationDateTime+`: $(date -u +%FT%TZ)"`)
}

// tokenCommand puts a token into a variable of the shell. It does without jq, which not
// everybody has.
func (n *neighbourhood) tokenCommand(variable, account string) string {
	return fmt.Sprintf(`%s=$(curl -s -u %s:%s %s -d grant_type=%s | sed 's/.*"access_token":"//; s/".*//')`,
		variable, account, accountSecret, n.issuer+tokenPath, clientCredentials)
}
