package sperr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// sortForRoute sorts orders by PLZ, street and house number, so that neighbours stand
// beside each other, and the rest by Ort and id. Those without a PLZ come first: nobody
// can drive to them before somebody has found out where they are, and at the end of a long
// list they would be found in the evening.
func sortForRoute(orders []*Order) {
	stops := make([]stop, len(orders))
	for i, o := range orders {
		t := o.treffpunkt()
		stops[i] = stop{plz: strings.TrimSpace(t.PLZ), strasse: sortWords(t.Strasse), ort: sortWords(t.Ort), order: o}
	}
	slices.SortFunc(stops, func(a, b stop) int {
		return cmp.Or(
			cmp.Compare(a.plz, b.plz), slices.Compare(a.strasse, b.strasse), slices.Compare(a.ort, b.ort),
			slices.Compare(a.order.ID[:], b.order.ID[:]),
		)
	})
	for i, s := range stops {
		orders[i] = s.order
	}
}

// stop is an order with what it is sorted by.
type stop struct {
	plz          string
	strasse, ort []string
	order        *Order
}

// sortWords are the words and numbers of an address, to be compared one after the other.
// Case, umlauts (DIN 5007-1), accents and punctuation make no difference, nor whether a
// street is written out: one street that two Lieferanten spell differently stays one. A
// number comes before a word and goes by its value: Weg 2, Weg 2 a, Weg 10.
func sortWords(s string) []string {
	var words []string
	rest := foldLetters.Replace(strings.ToLower(s))
	rest = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) { // an accent that stands for itself
			return -1
		}
		return r
	}, rest)
	for _, run := range strings.FieldsFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for run != "" {
			n := strings.IndexFunc(run, func(r rune) bool { return isASCIIDigit(r) != isASCIIDigit(rune(run[0])) })
			if n < 0 {
				n = len(run)
			}
			words = append(words, sortWord(run[:n]))
			run = run[n:]
		}
	}
	return words
}

func sortWord(word string) string {
	if isASCIIDigit(rune(word[0])) {
		digits := strings.TrimLeft(word, "0")
		return fmt.Sprintf("\x00%09d%s", len(digits), digits) // the longer number is the larger one
	}
	if strings.HasSuffix(word, "str") {
		return word + "asse"
	}
	return word
}

func isASCIIDigit(r rune) bool { return '0' <= r && r <= '9' }

// foldLetters makes lower-case letters those that they are sorted as.
var foldLetters = strings.NewReplacer(
	"ä", "a", "ö", "o", "ü", "u", "ß", "ss", "á", "a", "à", "a", "â", "a", "å", "a", "ç", "c", "é", "e", "è", "e", "ê", "e", "ë", "e",
	"í", "i", "ó", "o", "ô", "o", "ø", "o", "ú", "u", "ł", "l", "ń", "n", "ś", "s", "š", "s", "ž", "z", "č", "c",
)
