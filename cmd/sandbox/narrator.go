package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// narrator prints what happens and remembers the first thing that was not as
// expected. From then on it is silent and done tells the steps to do nothing, so
// that a chapter reads without an error check after each sentence.
type narrator struct {
	out      io.Writer
	chapters int
	err      error
}

func (n *narrator) done() bool { return n.err != nil }

// chapter begins a part of the story.
func (n *narrator) chapter(title string) {
	n.chapters++
	n.print("\n%d. %s\n\n", n.chapters, title)
}

// answered tells what was asked and what came back.
func (n *narrator) answered(asked string, a answer) {
	n.print("  %-78s %d %s\n", asked, a.status, http.StatusText(a.status))
	if gist := a.gist(); gist != "" {
		n.note("%s", gist)
	}
}

// note adds a detail to the line above, wrapped.
func (n *narrator) note(format string, args ...any) {
	const width, indent = 100, "      "
	line := indent
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if len(line)+1+len(word) > width && line != indent {
			n.print("%s\n", line)
			line = indent
		}
		line += " " + word
	}
	n.print("%s\n", line)
}

// expect ends the story unless ok.
func (n *narrator) expect(ok bool, format string, args ...any) {
	if !ok && !n.done() {
		n.err = fmt.Errorf("the story stops in chapter %d: %s", n.chapters, fmt.Sprintf(format, args...))
	}
}

// try ends the story if err is one.
func (n *narrator) try(err error) {
	if err != nil && !n.done() {
		n.err = fmt.Errorf("the story stops in chapter %d: %w", n.chapters, err)
	}
}

func (n *narrator) print(format string, args ...any) {
	if !n.done() {
		fmt.Fprintf(n.out, format, args...)
	}
}
