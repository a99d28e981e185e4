package proxy

import (
	"bufio"
	"net"
	"net/http"
)

// response is what the client gets. Interim responses of the upstream, as 103 Early
// Hints, go through it at once, and take all headers with them: those that outer
// handlers had set, such as what is left of a limit, are put back for the final one.
type response struct {
	http.ResponseWriter
	before   http.Header
	interim  bool
	hijacked bool
}

// WriteHeader sends a status and the headers.
func (w *response) WriteHeader(status int) {
	switch {
	case status < 200 && status != http.StatusSwitchingProtocols:
		w.interim = true
	case w.interim:
		h := w.Header()
		for name, values := range w.before {
			if _, ok := h[name]; !ok {
				h[name] = values
			}
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Hijack gives the connection away.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.hijacked = err == nil
	return conn, rw, err
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
