package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// documents are the Markdown files of the project by their paths from its root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	add := func(path string) {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(text)
	}
	add("README.md")
	err := fs.WalkDir(os.DirFS("../.."), "docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			add(path)
		}
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	return files
}

var (
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	emphasis = strings.NewReplacer("`", "", "*", "")
)

// anchors are what a heading can be reached by.
func anchors(text string) map[string]bool {
	all := map[string]bool{"": true}
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, emphasis.Replace(found[1]))
		all[anchor] = true
	}
	return all
}

func TestDocuments_lead_to_what_there_is(t *testing.T) {
	t.Parallel()
	files := documents(t)
	followed := 0
	for path, text := range files {
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			followed++
			to := path
			if target != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s leads to %s, which there is not", path, found[1])
				continue
			}
			if other, isDocument := files[to]; isDocument && !anchors(other)[anchor] {
				t.Errorf("%s leads to %s, where no heading is so called", path, found[1])
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d links", followed)
	}
}

func TestMakefile_lists_every_target(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`(?m)^\.PHONY: ([a-z-]+)$`).FindAllStringSubmatch(string(text), -1)
	for _, target := range targets {
		if target[1] == "go" || target[1] == "cc" {
			continue // what others need, and nobody asks for
		}
		if !regexp.MustCompile(`(?m)^` + target[1] + `:[^\n]*## \S`).Match(text) {
			t.Errorf("make help does not list %s", target[1])
		}
	}
	if len(targets) < 12 {
		t.Errorf("%d targets", len(targets))
	}
}
