package server

import (
	"bytes"
	"context"
	"log"
	"log/slog"
)

// complaints is the log of an http.Server. It warns, but not of handshakes that fail:
// whoever scans the port makes any number of them.
func complaints(to *slog.Logger) *log.Logger { return log.New(complaintWriter{to}, "", 0) }

type complaintWriter struct{ log *slog.Logger }

func (w complaintWriter) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	w.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}

// TakeOver has what libraries write to the default log of package log, for the whole
// process, be warnings of to. It is for a program, before it begins to serve.
func TakeOver(to *slog.Logger) {
	log.SetFlags(0)
	log.SetPrefix("")
	log.SetOutput(strayWriter{to})
}

// mostStray is how much is shown of a line of the default log, in bytes.
const mostStray = 200

// unsolicited begins what net/http says of an upstream whose answer was longer than it
// said, or that speaks unasked. It goes on with what that sent, which may be anything.
const unsolicited = "Unsolicited response received on idle HTTP channel"

type strayWriter struct{ log *slog.Logger }

func (w strayWriter) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, []byte(unsolicited)) {
		w.log.Warn("an upstream sent what no request had asked for; the connection was closed")
		return len(line), nil
	}
	text := bytes.TrimSpace(line)
	if len(text) > mostStray {
		text = append(text[:mostStray:mostStray], "..."...)
	}
	w.log.Warn("said by a library", "text", string(text))
	return len(line), nil
}
