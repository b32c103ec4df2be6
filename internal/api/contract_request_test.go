package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// checkRequest holds a request that was done to the description.
func (c *contract) checkRequest(r *http.Request, body []byte, whole bool) error {
	operation, pattern, ok := c.operation(r.Method, r.URL.EscapedPath())
	if !ok {
		return nil // see checkBody
	}
	parameters := c.parameters(pattern, operation)
	query := r.URL.Query()
	for name, parameter := range named(parameters, "query") {
		if parameter.members()["required"] == true && !query.Has(name) {
			return fmt.Errorf("parameter %s is missing", name)
		}
	}
	for name, values := range query {
		parameter, known := named(parameters, "query")[name]
		if !known {
			return fmt.Errorf("parameter %s is not described", name)
		}
		if err := parameter.in("schema").validate(typed(parameter.in("schema"), values[0])); err != nil {
			return fmt.Errorf("parameter %s: %q: %w", name, values[0], err)
		}
	}
	for name, parameter := range named(parameters, "header") {
		for _, value := range r.Header.Values(name) {
			if err := parameter.in("schema").validate(value); err != nil {
				return fmt.Errorf("header %s: %q: %w", name, value, err)
			}
		}
	}
	if !whole || query.Get("dry_run") == "true" {
		return nil // answered before it was sent; or told what is wrong with it
	}
	return checkRequestBody(operation.in("requestBody"), r.Header, body)
}

// typed is the text of a parameter as the schema means it.
func typed(schema place, text string) any {
	switch schema.text("type") {
	case "integer":
		return json.Number(text)
	case "boolean":
		return text == "true"
	default:
		return text
	}
}

func checkRequestBody(described place, h http.Header, body []byte) error {
	switch {
	case len(body) == 0 && described.members()["required"] == true:
		return errors.New("the body of the request is missing")
	case len(body) == 0:
		return nil
	case !described.exists():
		return errors.New("no body of a request is described")
	}
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return err
	}
	schema := described.in("content", media, "schema")
	if !schema.exists() {
		return fmt.Errorf("%s of a request is not described", media)
	}
	if err := schema.validateJSON(bytes.TrimPrefix(body, []byte(mark))); err != nil {
		return fmt.Errorf("body of the request: %w", err)
	}
	return nil
}
