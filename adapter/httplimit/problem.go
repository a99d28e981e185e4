package httplimit

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
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
	body := bodies.Get().(*[]byte)
	b := problemHead((*body)[:0], kind, http.StatusText(e.Status), e.Status)
	b = member(b, "error", e.Code)
	if retry := retrySeconds(e.Retry); e.Retry > 0 && retry > 0 {
		w.Header()[headerRetry] = []string{integer(retry)}
		b = append(b, `,"retry_after_seconds":`...)
		b = appendInteger(b, retry)
	}
	*body = member(b, "detail", e.Detail)
	if e.Status == http.StatusUnauthorized {
		w.Header()[headerChallenge] = []string{"Bearer"} // RFC 9110 wants one
	}
	v := makeValues(fieldsOfProblem)
	writeProblem(w, r, e.Status, body, &v)
}

// bodies are the buffers of problems, for use again: an [io.Writer] must not keep what
// it is given.
var bodies = sync.Pool{New: func() any {
	b := make([]byte, 0, 640)
	return &b
}}

// maxBody is the longest buffer that is used again. Ordinary problems fit.
const maxBody = 4 << 10

// fieldsOfProblem are Content-Type, Cache-Control and Content-Length.
const fieldsOfProblem = 3

// writeProblem closes an object with the member instance, sends it, and gives its
// buffer back. v has room for the fields.
func writeProblem(w http.ResponseWriter, r *http.Request, status int, body *[]byte, v *values) {
	b := *body
	if path := r.URL.EscapedPath(); len(path) <= maxInstance {
		b = member(b, "instance", path)
	}
	b = append(b, '}', '\n')
	h := w.Header()
	h[headerType] = v.list(problemType)
	h[headerCache] = v.list("no-store")
	h[headerLength] = v.list(strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that is gone needs no answer
	if cap(b) <= maxBody {
		*body = b
		bodies.Put(body)
	}
}

// problemHead appends the beginning of an object.
func problemHead(b []byte, kind, title string, status int) []byte {
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
