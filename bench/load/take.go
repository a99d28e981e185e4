package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The servers of the check API. The bare ones read the body that they are sent and
// answer with a decision that was made once.
const (
	take      = "take"       // tickgate serve, asked for one key
	takeMany  = "take-64"    // the same, asked for 64 keys at once
	takeBare  = "take-bare"  // a mux and a handler
	takeTimed = "take-timed" // the same, with time-outs of the length that serve has
)

const takePath = "/v1/take"

// batch is how many keys takeMany is asked for.
const batch = 64

func isTake(kind string) bool { return kind == take || kind == takeMany }

// buildTickgate builds the command from the sources beside this module.
func buildTickgate(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "tickgate")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join("..", "cmd", "tickgate")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build tickgate (run this in the folder bench, or name a program with -tickgate): %w: %s", err, out)
	}
	return program, nil
}

func takeCommand(ctx context.Context, o *options) *exec.Cmd {
	return exec.CommandContext(ctx, o.tickgate, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--set", "order.new=1000000000/s", "--max-keys", strconv.Itoa(2*o.callers))
}

// takeAddress finds where serve listens in a line of its log.
func takeAddress(line string) string {
	_, rest, found := strings.Cut(line, "msg=serving address=")
	if !found {
		return ""
	}
	address, _, _ := strings.Cut(rest, " ")
	return "http://" + address
}

// bareTake answers as tickgate does when a request passes.
func bareTake(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"allowed":true,"reason":"ok","limit":"1000000000/s","remaining":999999999,"reset_after_ns":1}`+"\n")
}

// setTimeouts gives a server those that serve has unless it is told others.
func setTimeouts(s *http.Server) {
	s.ReadTimeout, s.WriteTimeout, s.IdleTimeout = 30*time.Second, 30*time.Second, 2*time.Minute
}

func takeRequest(ctx context.Context, c *child) (*http.Request, error) {
	body := fmt.Sprintf(`{"apikey":%q,"endpoint":"order.new","n":1}`, caller(0))
	if c.kind == takeMany {
		body = `{"requests":[` + strings.Repeat(body+",", batch-1) + body + `]}`
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+takePath, strings.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}
