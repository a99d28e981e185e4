package httplimit

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// fieldID reads a member of the JSON object that body is, at the top level. It is ""
// if there is none, or it is null.
//
// It is stricter than those who read the body later. What they might understand
// differently is an error: a member given twice, or one whose name differs in case
// alone, since encoding/json takes that for the same.
func fieldID(body []byte, name string) (string, error) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return "", nil
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return "", ErrBodyInvalid
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return "", ErrBodyInvalid
	}
	var id string
	var value json.RawMessage
	seen := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", ErrBodyInvalid
		}
		if err := dec.Decode(&value); err != nil {
			return "", ErrBodyInvalid
		}
		switch text := key.(string); {
		case !strings.EqualFold(text, name):
			continue
		case text != name || seen:
			return "", ErrIDInvalid
		}
		seen = true
		if string(value) == "null" {
			continue
		}
		if value[0] != '"' || json.Unmarshal(value, &id) != nil {
			return "", ErrIDInvalid
		}
		if err := bodyID(id); err != nil {
			return "", err
		}
	}
	return id, nil
}
