// Package sperr is one Sperr- or Entsperrauftrag from its arrival to the moment
// its Lieferant knows the outcome: the queue, the rules of the trade, and the
// IFTSTA that reports back. It speaks to PostgreSQL and to makod; it knows
// nothing of routes, tokens or status codes.
//
// # Glossary
//
//	Sperrung, Entsperrung   BGM+Z51 / Z52            Type: the physical interruption of supply, its restoration
//	Sperrauftrag            ORDERS 17115             Order of TypeSperrung
//	Entsperrauftrag         ORDERS 17117             Order of TypeEntsperrung
//	Marktlokation (MaLo)    LOC+172                  Order.MaloID, eleven digits
//	Lieferant (LF)          NAD+MS                   Order.LieferantID (column lf_mp_id: the one renamed field)
//	Netzbetreiber (NB)      NAD+MR                   the tenant
//	Ausführungsdatum        DTM+203                  Order.AusfuehrungAm, with its hour AusfuehrungZeitpunkt
//	frühestmöglicher Termin DTM+469                  Order.FruehestensAm
//	Arbeitszeit             IMD+7081 Z53 / Z54       Arbeitszeit, Entsperrauftrag only
//	Treffpunkt              SG2 NAD+Z24              Treffpunkt
//	Hinweis                 SG29 FTX+ACB             Order.Hinweis
//	Sperrversuch            GPKE Teil 2 § 3.5.1.2    one visit of the field team, at most two in one order
//	Prüfschritt             SG15 STS DE9013          Order.PruefschrittCode, from the EBD
//	Auftragsstatus          IFTSTA 21039             the report of the outcome to the LF
//	Werktag (WT)            BDEW calendar            package werktag
//	Übertragungstag (ÜT)    AS4 receipt              the day on which the NB received the order
//	Frist                   GPKE Teil 2 § 3.5.1.2    a regulated deadline: AusfuehrungFaelligAm, IFTSTAFaelligAm
//
// The words of the IFTSTA queue:
//
//	outstanding   the order is closed and its Lieferant does not know the outcome
//	claim         the right to send an outcome once; each claim is an attempt
//	lease         how long a claim holds; the order is in flight until its sender records or the lease ends
//	given back    an attempt that does not count: nothing was sent, or makod has put it off
//	unklar        a send had no answer: makod may have done it
//	spent, stuck  the attempts are used up, or SQL made the next one due at no time: a human has to find out why
//	cycle         the attempts from the report, or from a reset, until they are spent
//	announced     told to the ERP once: past its Frist, or spent (columns *_eskaliert_at, *_escalated_at)
//
// The words of a call that comes again:
//
//	operation     what is done once, known by the id of its first call (logical id)
//	call          one call of an operation, its ids the Attempt; a device that has no answer makes another one
//	logical id    the id of the first call; its columns are *_transaktion, but for iftsta_transaktion
//	twin          another call of an operation that is under way
//	refusal       an answer in itself: it stays what it is for the operation
//	provisional   the answer that stands if the call that asks makod dies
//
// The words of a delivery that was refused:
//
//	reject        a signed delivery answered with a 4xx, kept whole, since its sender never sends it again
//	open          it waits for a human
//	settled       replayed (given to the queue once more) or dismissed (for a reason)
//
// # States
//
//	             Execute                        IFTSTA Z14
//	pending ───────────────────────▶ executed ──────────────▶ dispatched
//	 │  ▲ │      Fail: second visit,            IFTSTA Z13
//	 │  │ └───── endgueltig, or A02 ─▶ failed ───────────────▶ dispatched
//	 │  └─ Fail: first visit
//	 └────────── Cancel ────────────▶ cancelled  (no IFTSTA)
//
// Read in this order: ingest.go, service.go, once.go, receive.go, outcome.go, fail.go,
// iftsta.go, iftsta_attempt.go, iftsta_record.go, retry.go, frist_scanner.go, repair.go,
// rejects.go, forget.go.
package sperr
