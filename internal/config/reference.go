package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// getenv is os.LookupEnv or a test's own environment.
type getenv = func(string) (string, bool)

const (
	envPrefix  = "env:"
	filePrefix = "file:"
)

// resolve returns the text that a string of the file stands for: itself, or
// with env:NAME the variable, or with file:/path the content of that file, one
// trailing newline cut. source names the variable or the file; it and the error
// never hold the value.
//
// The result is never itself a reference: a value that still reads env:NAME
// (a nested reference, a stray blank, capitals) would otherwise become the
// secret, and everybody who has seen the documentation would know it.
func resolve(text string, env getenv) (value, source string, err error) {
	value, source, err = follow(text, env)
	if err != nil {
		return "", source, err
	}
	spelling := strings.ToLower(strings.TrimSpace(value))
	switch {
	case spelling == "":
		return "", source, errors.New("is blank")
	case strings.HasPrefix(spelling, envPrefix), strings.HasPrefix(spelling, filePrefix):
		return "", source, errors.New("is a reference that is not followed: " +
			"env: and file: are lower-case, without a blank before them, and lead to a value, not to another reference")
	}

	return value, source, nil
}

// follow reads where a reference leads.
func follow(text string, env getenv) (value, source string, err error) {
	if name, ok := strings.CutPrefix(text, envPrefix); ok {
		if name == "" {
			return "", "", errors.New("must name a variable, as in env:NAME")
		}
		source = "environment variable " + name
		value, set := env(name)
		switch {
		case !set:
			return "", source, errors.New("is not set")
		case value == "":
			return "", source, errors.New("is empty")
		}

		return value, source, nil
	}
	if path, ok := strings.CutPrefix(text, filePrefix); ok {
		if path == "" {
			return "", "", errors.New("must name a file, as in file:/path")
		}
		value, err = readOneLine(path)

		return value, "file " + path, err
	}

	return text, "", nil
}

// readOneLine reads a file as an orchestrator mounts a secret, most often with
// the newline that an editor or echo has left at its end.
func readOneLine(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		// The reason alone: the path is named beside it.
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}

		return "", fmt.Errorf("cannot be read: %w", err)
	}
	text, cut := strings.CutSuffix(string(content), "\n")
	if cut {
		text = strings.TrimSuffix(text, "\r")
	}

	return text, nil
}
