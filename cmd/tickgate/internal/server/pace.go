package server

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// pace returns a handler whose clients may take most for each part of an answer. The
// WriteTimeout of http.Server is for the whole of it: it would cut answers that go on
// and on, however well they are read.
func pace(most time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paced := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), most: most}
		next.ServeHTTP(paced, r)
		paced.allow() // for what the server still has to send; then it lifts the deadline
	})
}

// pacedWriter sets a deadline for each part of an answer, and lifts it when the part is
// sent: an answer may pause. On a connection of HTTP/1 an old deadline would do no harm
// until the next write; HTTP/2 ends the stream when it is over.
type pacedWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	most     time.Duration
	hijacked bool
}

func (w *pacedWriter) allow() {
	if !w.hijacked {
		_ = w.control.SetWriteDeadline(time.Now().Add(w.most)) // a connection that has none is gone
	}
}

func (w *pacedWriter) lift() {
	if !w.hijacked {
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}

// WriteHeader has a deadline of its own.
func (w *pacedWriter) WriteHeader(status int) {
	w.allow()
	defer w.lift()
	w.ResponseWriter.WriteHeader(status)
}

// Write has a deadline of its own.
func (w *pacedWriter) Write(b []byte) (int, error) {
	w.allow()
	defer w.lift()
	return w.ResponseWriter.Write(b)
}

// FlushError has a deadline of its own.
func (w *pacedWriter) FlushError() error {
	w.allow()
	defer w.lift()
	return w.control.Flush()
}

// Hijack gives the connection away, without deadlines.
func (w *pacedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.control.Hijack()
	w.hijacked = err == nil
	return conn, rw, err
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
