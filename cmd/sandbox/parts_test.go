package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/sperr"
	"sperrd/internal/webhook"
	"sperrd/internal/werktag"
)

func TestMaloID_check_digit_fits(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"51238696012", "51238696781"} {
		if got := string(maloCheckDigit(id[:10])); got != id[10:] {
			t.Errorf("check digit of %s is %s", id[:10], got)
		}
	}
	drawn := drawMaloID()
	if len(drawn) != 11 || drawn[0] == '0' || string(maloCheckDigit(drawn[:10])) != drawn[10:] {
		t.Errorf("%s is no MaLo-ID", drawn)
	}
	if spoilt := spoil("51238696782"); spoilt != "51238696783" {
		t.Errorf("spoilt is %s", spoilt)
	}
	if drawn == drawMaloID() {
		t.Error("two Marktlokationen have one MaLo-ID")
	}
}

// An event that an earlier run has delivered would be its redelivery.
func TestEvents_are_about_a_process_of_their_own(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.August, 13, 11, 12, 31, 0, werktag.Berlin())
	seen := map[string]bool{}
	for _, name := range []string{fixedDate, earliestDate, throughMarktd, entsperrung, anfrage, supplierStart} {
		body, err := newEvent(name, at, werktag.NewDate(2026, time.September, 1)).body()
		if err != nil {
			t.Fatal(err)
		}
		var event struct {
			ID, Subject, Time string
			Data              struct {
				MaloID        string `json:"malo_id"`
				AusfuehrungAm string `json:"ausfuehrung_am"`
				FruehestensAm string `json:"fruehestens_am"`
			}
		}
		if err := json.Unmarshal(body, &event); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, drawn := range []string{event.ID, event.Subject, event.Data.MaloID} {
			if drawn == "" || seen[drawn] {
				t.Errorf("%s: %q is not its own", name, drawn)
			}
			seen[drawn] = true
		}
		if event.Time != "2026-08-13T09:12:31Z" {
			t.Errorf("%s: time is %s", name, event.Time)
		}
		if dates := event.Data.AusfuehrungAm + event.Data.FruehestensAm; strings.HasPrefix(name, "17115") &&
			dates != "20260901" && dates != "2026-09-01" {
			t.Errorf("%s: asks for %q", name, dates)
		}
	}
}

func TestPort_usual_one_in_use_is_replaced_and_said(t *testing.T) {
	t.Parallel()
	taken, err := listenOnFree(t.Context(), loopback)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var said string
	listener, err := port{"--port", 0, portOf(taken)}.listen(t.Context(), loopback, func(format string, args ...any) {
		said = fmt.Sprintf(format, args...)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if want := fmt.Sprintf("port %d is in use, taking %d", portOf(taken), portOf(listener)); said != want {
		t.Errorf("said %q, want %q", said, want)
	}
}

// The sandbox is a check as well: one answer that is not the expected one ends the
// story in its chapter, with what came instead.
func TestStory_stops_at_the_first_unexpected_answer(t *testing.T) {
	t.Parallel()
	var asked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	n := beside(t, other.URL)
	err := newStory(n, werktag.BerlinDay(time.Now())).tell(t.Context())
	other.Close() // its handlers have ended
	if err == nil || !strings.Contains(err.Error(), "chapter 1: expected 201 for 17115, fixed date (DTM+203), got 202 {}") {
		t.Errorf("the story ends with %v", err)
	}
	if len(asked) != 2 {
		t.Errorf("after the wrong answer it went on: %v", asked)
	}
}

// The story expects the same verdicts whatever day it is told on.
func TestStory_dates_keep_and_violate_the_Vorlauffrist_on_every_day(t *testing.T) {
	t.Parallel()
	cal := werktag.BDEW()
	for today := werktag.NewDate(2026, time.January, 1); today.Year() < 2028; today = today.AddDays(1) {
		s := newStory(&neighbourhood{}, today)
		inTime, err1 := sperr.JudgeVorlauffrist(cal, s.due, true, werktag.BerlinDay(s.arrival(s.due, inTimeWT)))
		tooLate, err2 := sperr.JudgeVorlauffrist(cal, s.due, false, werktag.BerlinDay(s.arrival(s.due, tooLateWT)))
		ahead, err3 := sperr.JudgeVorlauffrist(cal, s.werktageAhead(aheadWT), true, today)
		if err := errors.Join(err1, err2, err3, s.err); err != nil {
			t.Fatal(err)
		}
		if !inTime.Eingehalten || tooLate.Eingehalten || !ahead.Eingehalten || s.due.After(today) {
			t.Errorf("%s: %+v, %+v, %+v", today, inTime, tooLate, ahead)
		}
	}
}

// A sperrd that is healthy on our port need not be ours.
func TestReadiness_is_not_taken_from_somebody_else(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/webhook" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer other.Close()
	if err := beside(t, other.URL).knock(t.Context()); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("knock says %v", err)
	}
}

// beside is a neighbourhood around something that is not sperrd.
func beside(t *testing.T, base string) *neighbourhood {
	t.Helper()
	signer, err := webhook.NewSigner("secret")
	if err != nil {
		t.Fatal(err)
	}
	n := &neighbourhood{
		stdout: io.Discard, sperrd: newClient(base),
		market: market{makod: makodtest.New(makodtest.Options{}), signer: signer, sperrd: base},
	}
	t.Cleanup(n.sperrd.http.CloseIdleConnections)
	return n
}

func TestHelp_explains_every_switch(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("exit code %d, %s", code, errs.String())
	}
	for _, want := range []string{
		"--once", "--skip-story", "--sperrd=PATH", "--verbose", "--data=DIR", "--database-url=URL", "--makod-fault", "--port=N",
		"--makod-port=N", "--erp-port=N", "--admin-port=N", "--issuer-port=N", "--idempotency-required", "  kollege ", "POST /spawn?pid=", "POST /makod/fault?kind=",
		"POST /erp/fault?kind=", "GET  /iftsta", "GET  /erp/events",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("-h lacks %s", want)
		}
	}
}

func TestSwitches_that_cannot_be_are_refused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--data", "x", "--database-url", "postgres://x"}, {"--makod-fault", "fire"}, {"--nonsense"}, {"--once", "--skip-story"},
	} {
		if says := refusal(t, args...); !strings.Contains(says, "-h shows the switches") {
			t.Errorf("%v: %s", args, says)
		}
	}
}

func TestSwitches_of_ports_take_ports_alone(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--port", "--makod-port", "--erp-port", "--admin-port", "--issuer-port"} {
		for _, number := range []string{"0", "-1", "65536", "99999999999999999999", "many", ""} {
			want := fmt.Sprintf("%s: %q is no port, which is a number from 1 to 65535", flag, number)
			if says := refusal(t, flag+"="+number); !strings.Contains(says, want) {
				t.Errorf("%s=%s: %s", flag, number, says)
			}
		}
		if says := refusal(t, flag, "-1"); !strings.Contains(says, flag) {
			t.Errorf("%s -1: %s", flag, says)
		}
		for _, number := range []int{1, 65535} {
			o, err := parse([]string{flag, strconv.Itoa(number)}, io.Discard, io.Discard)
			if got := int(max(o.Port, o.MakodPort, o.ERPPort, o.AdminPort, o.IssuerPort)); err != nil || got != number {
				t.Errorf("%s %d: %d, %v", flag, number, got, err)
			}
		}
	}
}

// The story would end at its first call without ids, which is told before anything starts.
func TestSwitches_of_required_ids_and_of_the_story_exclude_each_other(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--idempotency-required"}, {"--idempotency-required", "--once"}} {
		if says := refusal(t, args...); !strings.Contains(says, "--idempotency-required needs --skip-story") {
			t.Errorf("%v: %s", args, says)
		}
	}
	if _, err := parse([]string{"--idempotency-required", "--skip-story"}, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
}

// refusal is what a command line is told that is refused before anything starts.
func refusal(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // one that is taken by mistake starts nothing
	var out, errs bytes.Buffer
	if code := run(ctx, args, &out, &errs); code != 2 || out.Len() > 0 {
		t.Errorf("%v: exit code %d, %s", args, code, out.String())
	}
	return errs.String()
}

// A person who takes GET is told so in the text, since curl shows no header.
func TestAdmin_says_which_method_a_route_takes(t *testing.T) {
	t.Parallel()
	routes := (&neighbourhood{}).routes()
	for path, want := range map[string]string{
		"/spawn?pid=17115": "POST", "/makod/fault?kind=none": "POST", "/erp/fault?kind=none": "POST", "/iftsta": "GET", "/erp/events": "GET",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if method == want || method == "HEAD" && want == "GET" {
				continue
			}
			w := httptest.NewRecorder()
			routes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
			allow := w.Header().Get("Allow")
			if w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Body.String(), "use "+want+`"`) || !strings.HasPrefix(allow, want) {
				t.Errorf("%s %s: %d, Allow %s, %s", method, path, w.Code, allow, w.Body)
			}
		}
	}
}
