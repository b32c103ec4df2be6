package api_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// idVector is a row of the vectors of ids.
type idVector struct{ kind, id, verdict, why string }

// idSample are rows of the vectors: of each kind and verdict the first two, and all that
// are malformed.
func idSample(t *testing.T) []idVector {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "sperr", "testdata", "ids_vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var sample []idVector
	seen := map[string]int{}
	for _, row := range rows[1:] {
		key := row[0] + row[2]
		if seen[key]++; seen[key] <= 2 || row[2] == "invalid" {
			sample = append(sample, idVector{row[0], row[1], row[2], row[3]})
		}
	}
	if len(seen) != 8 {
		t.Fatalf("kinds and verdicts %v, want eight", seen)
	}
	return append(sample, idVector{"dvgw", "9800227200009", "check-digit-mismatch", "not among the vectors"})
}

// fittingDigit is the digit that completes an id to its check digit.
func fittingDigit(id string, even int) string {
	sum := 0
	for i, r := range id[:len(id)-1] {
		sum += int(r-'0') * (1 + i%2*(even-1))
	}
	return fmt.Sprint((10 - sum%10) % 10)
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// surfaces are the two ways in which an order with the ids, as JSON has them, arrives.
func (b *bench) surfaces(t *testing.T, n int, maloID, lieferant string) map[string]answer {
	t.Helper()
	return map[string]answer{
		"operator": b.call(t, http.MethodPost, orders, `{"malo_id":`+maloID+`,"lf_mp_id":`+lieferant+`,"order_type":"entsperrung"}`),
		"market": b.deliver(t, fmt.Appendf(nil, `{"specversion":"1.0","id":"e","source":"urn:x","type":"de.mako.process.initiated","subject":"p-%d",
			"makopid":17117,"data":{"malo_id":%s,"lf_mp_id":%s,"arbeitszeit":"Z53"}}`, n, maloID, lieferant)),
	}
}

func TestMaLo_of_a_wrong_household_is_refused_on_both_surfaces_with_the_digit_that_fits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := 0
	for n, v := range idSample(t) {
		if v.kind != "malo" {
			continue
		}
		for surface, a := range b.surfaces(t, n, quoted(t, v.id), `"9900357000003"`) {
			if v.verdict == "valid" {
				want++
				wantStatus(t, a, http.StatusCreated)
				continue
			}
			code := map[string]string{"operator": "invalid_order", "market": "unusable_event"}[surface]
			p := wantProblem(t, a, http.StatusUnprocessableEntity, code, "malo_id")
			wellFormed := len(v.id) == 11 && !strings.ContainsFunc(v.id, func(r rune) bool { return r < '0' || r > '9' }) && v.id[0] != '0'
			if wellFormed {
				if text := v.id[10:] + ", but " + fittingDigit(v.id, 2) + " would fit"; !strings.Contains(p.Detail, text) {
					t.Errorf("%s %q: %q, want %q in it", surface, v.id, p.Detail, text)
				}
			} else if strings.Contains(p.Detail, "would fit") {
				t.Errorf("%s %q (%s): %q", surface, v.id, v.why, p.Detail)
			}
		}
	}
	if n := b.orderCount(t); n != want {
		t.Errorf("%d orders, want %d", n, want)
	}
}

func TestMPID_is_refused_for_its_shape_and_warned_about_for_its_check_digit_on_both_surfaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kinds := map[string]string{"bdew": "BDEW-Codenummer", "dvgw": "DVGW-Codenummer", "gln": "GLN"}
	for n, v := range idSample(t) {
		if v.kind == "malo" {
			continue
		}
		for surface, a := range b.surfaces(t, n, `"51238696012"`, quoted(t, v.id)) {
			if v.verdict == "invalid" {
				code := map[string]string{"operator": "invalid_order", "market": "unusable_event"}[surface]
				wantProblem(t, a, http.StatusUnprocessableEntity, code, "lf_mp_id")
				continue
			}
			warnings := b.order(t, decode[order](t, a, http.StatusCreated).ID).Warnungen
			i := slices.IndexFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "lf_mp_id: ") })
			if v.verdict == "valid" {
				if i >= 0 {
					t.Errorf("%s %s: %q", surface, v.id, warnings[i])
				}
				continue
			}
			even := map[string]int{"bdew": 2, "dvgw": 2, "gln": 3}[v.kind]
			want := fmt.Sprintf("lf_mp_id: %s %s has check digit %s, but %s would fit", kinds[v.kind], v.id, v.id[12:], fittingDigit(v.id, even))
			if i < 0 || warnings[i] != want {
				t.Errorf("%s %s: warnings %q, want %q", surface, v.id, warnings, want)
			}
		}
	}
}
