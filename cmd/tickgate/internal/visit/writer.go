package visit

import (
	"bufio"
	"net"
	"net/http"
)

// writer notes what becomes of a response.
type writer struct {
	http.ResponseWriter
	status   int // 0 if there was none
	replayed bool
}

func (w *writer) note(status int) {
	if w.status == 0 {
		w.status = status
		w.replayed = w.Header().Get("Idempotent-Replayed") == "true"
	}
}

// WriteHeader notes the first status that is not of an interim response.
func (w *writer) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.note(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body, after status 200 if none was set.
func (w *writer) Write(b []byte) (int, error) {
	w.note(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// FlushError sends the header, if that was not sent before.
func (w *writer) FlushError() error {
	w.note(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack gives the connection away, which is how a protocol is switched.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.note(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
