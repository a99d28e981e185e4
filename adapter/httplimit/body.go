package httplimit

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
)

// readBody reads a request's body of at most limit bytes. A longer one is not read to
// its end: the server then closes the connection. What is kept grows with what has
// come, not with what was announced.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, ErrBodyTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, ErrBodyTooLarge
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close") // what has not come is not waited for
		return nil, ErrBodySlow
	case err != nil:
		return nil, ErrBodyRead
	}
	return body, nil
}

// withBody returns a request that has body in place of what was read.
func withBody(r *http.Request, body []byte) *http.Request {
	again := new(http.Request)
	*again = *r
	again.Body = &bytesBody{*bytes.NewReader(body)}
	return again
}

// bytesBody is a body that was read already. It writes itself in one piece to whoever
// copies it.
type bytesBody struct{ bytes.Reader }

func (*bytesBody) Close() error { return nil }
