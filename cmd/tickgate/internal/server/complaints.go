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
