package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/werktag"
)

// startAdmin serves the sandbox's own endpoints, on loopback alone.
func (n *neighbourhood) startAdmin(ctx context.Context) error {
	listener, err := port{"--admin-port", n.AdminPort, 8782}.listen(ctx, loopback, n.say)
	if err != nil {
		return err
	}
	n.adminURL = urlOf(portOf(listener))
	server := &http.Server{
		// A page in a browser on this machine must not play the market.
		Handler:           http.NewCrossOriginProtection().Handler(n.routes()),
		ReadHeaderTimeout: 10 * time.Second,
	}
	n.background(ctx, "admin endpoints", func(ctx context.Context) error { return serveUntil(ctx, server, listener) })
	n.say("admin endpoints on %s", n.adminURL)
	return nil
}

// serveUntil serves until ctx ends, and then lets requests under way finish.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	err := server.Serve(listener)
	if unhook() || !errors.Is(err, http.ErrServerClosed) {
		return err // it ended before ctx did
	}
	return <-stopped
}

func (n *neighbourhood) routes() http.Handler {
	mux := http.NewServeMux()
	for _, route := range []struct {
		method, path string
		handle       http.HandlerFunc
	}{
		{http.MethodPost, "/spawn", n.market.handleSpawn},
		{http.MethodPost, "/makod/fault", n.market.handleFault},
		{http.MethodGet, "/iftsta", n.market.handleIFTSTA},
		{http.MethodPost, "/erp/fault", n.erp.handleFault},
		{http.MethodGet, "/erp/events", n.erp.handleEvents},
	} {
		mux.HandleFunc(route.method+" "+route.path, route.handle)
		mux.HandleFunc(route.path, useInstead(route.method))
	}
	return mux
}

// useInstead answers the methods that a route does not take. The mux would name the
// right one in a header alone, which curl does not show.
func useInstead(method string) http.HandlerFunc {
	allow := method
	if method == http.MethodGet {
		allow += ", " + http.MethodHead
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		reply(w, http.StatusMethodNotAllowed, fields{"error": fmt.Sprintf("%s does not take %s: use %s", r.URL.Path, r.Method, method)})
	}
}

// handleSpawn lets a Lieferant order: a Sperrung from today on, which violates the
// Vorlauffrist and is due, or an Entsperrung.
func (m market) handleSpawn(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var e marketEvent
	switch pid := r.URL.Query().Get("pid"); pid {
	case "17115":
		e = newEvent(earliestDate, now, werktag.BerlinDay(now))
	case "17117":
		e = newEvent(entsperrung, now, werktag.Date{})
	default:
		reply(w, http.StatusBadRequest, fields{"error": fmt.Sprintf("pid is %q: want 17115 or 17117", pid)})
		return
	}
	id, err := m.order(r.Context(), e)
	if err != nil {
		reply(w, http.StatusBadGateway, fields{"error": err.Error()})
		return
	}
	reply(w, http.StatusCreated, fields{"id": id, "malo_id": e.MaloID, "process_id": e.ProcessID, "event_id": e.EventID})
}

// order spawns the process of an event, delivers it, and returns the id of the
// order that came of it.
func (m market) order(ctx context.Context, e marketEvent) (string, error) {
	if err := m.spawn(e); err != nil {
		return "", err
	}
	a, err := m.deliver(ctx, e, m.signer)
	if err != nil {
		return "", err
	}
	if a.status != http.StatusCreated {
		return "", fmt.Errorf("sperrd answered the event with %d %s", a.status, a.body)
	}
	queued, err := decode[order](a)
	return queued.ID.String(), err
}

func (m market) handleFault(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Query().Get("kind")
	if err := m.setFault(kind); err != nil {
		reply(w, http.StatusBadRequest, fields{"error": fmt.Sprintf("%v: kind is %q, want none, down, drop, lost, error, busy or hang", err, kind)})
		return
	}
	reply(w, http.StatusOK, fields{"kind": kind})
}

// iftsta is an IFTSTA 21039 as the Lieferant reads it.
type iftsta struct {
	MaloID         string     `json:"malo_id"`
	LieferantID    string     `json:"lf_mp_id"`
	ProcessID      string     `json:"process_id"`
	Qualifier      string     `json:"auftragsstatus_qualifier"`
	Code           string     `json:"auftragsstatus_code"`
	Pruefschritt   string     `json:"pruefschritt_code"`
	Fertigstellung *time.Time `json:"fertigstellung"`
	Text           string     `json:"text"`
	At             time.Time  `json:"at"`
}

func (m market) handleIFTSTA(w http.ResponseWriter, _ *http.Request) {
	all := []iftsta{}
	for _, message := range m.makod.IFTSTA() {
		all = append(all, shownIFTSTA(message))
	}
	reply(w, http.StatusOK, all)
}

func shownIFTSTA(m makodtest.IFTSTA) iftsta {
	shown := iftsta{
		MaloID: m.MaloID, LieferantID: m.LieferantID, ProcessID: m.ProcessID, Qualifier: m.Qualifier,
		Code: m.Code, Pruefschritt: m.Pruefschritt, Text: m.Text, At: m.At.UTC(),
	}
	if !m.Fertigstellung.IsZero() {
		shown.Fertigstellung = &m.Fertigstellung
	}
	return shown
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body) // the client is gone: nobody to tell
}
