package httplimit

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// The body of what a middleware answers by itself is a problem of RFC 9457: one
// object, for readers of that and for readers of its member "error".
const (
	problemType = "application/problem+json"

	typeQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	typeBlank    = "about:blank" // the status says it all
)

// maxInstance is the longest path that a problem repeats.
const maxInstance = 512

// WriteError is the [ErrorHandler] that is used where none is set: the status, and a
// body of application/problem+json with the members type, title, status, detail,
// instance and error, that is e.Code.
func WriteError(w http.ResponseWriter, r *http.Request, e *Error) {
	kind := typeBlank
	if e.Code == "limiter_full" {
		kind = typeCapacity
	}
	b := problemHead(kind, http.StatusText(e.Status), e.Status)
	b = member(b, "error", e.Code)
	if retry := retrySeconds(e.Retry); e.Retry > 0 && retry > 0 {
		w.Header()[headerRetry] = []string{integer(retry)}
		b = append(b, `,"retry_after_seconds":`...)
		b = appendInteger(b, retry)
	}
	b = member(b, "detail", e.Detail)
	if e.Status == http.StatusUnauthorized {
		w.Header()[headerChallenge] = []string{"Bearer"} // RFC 9110 wants one
	}
	writeProblem(w, r, e.Status, b)
}

// writeProblem closes an object with the member instance, and sends it.
func writeProblem(w http.ResponseWriter, r *http.Request, status int, b []byte) {
	if path := r.URL.EscapedPath(); len(path) <= maxInstance {
		b = member(b, "instance", path)
	}
	b = append(b, '}', '\n')
	h := w.Header()
	h[headerType] = []string{problemType}
	h[headerCache] = []string{"no-store"}
	h[headerLength] = []string{strconv.Itoa(len(b))}
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that is gone needs no answer
}

// problemHead begins an object.
func problemHead(kind, title string, status int) []byte {
	b := make([]byte, 0, 640)
	b = append(b, `{"type":`...)
	b = appendJSON(b, kind)
	b = member(b, "title", title)
	b = append(b, `,"status":`...)
	return strconv.AppendInt(b, int64(status), 10)
}

// member appends a member whose name needs no escape.
func member(b []byte, name, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return appendJSON(b, value)
}

// appendJSON appends s as a JSON string.
func appendJSON(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // a string never fails
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
