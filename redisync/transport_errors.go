package redisync

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// downError is what became of a call that was not sent, since there was no connection.
type downError struct {
	addr string
	why  error
}

func (e *downError) Error() string {
	if e.why == nil {
		return fmt.Sprintf("%v: not connected to %s at present", ErrDown, e.addr)
	}
	return fmt.Sprintf("%v at %s: %v", ErrDown, e.addr, e.why)
}

func (e *downError) Unwrap() []error { return []error{ErrDown, e.why} }

// unsent is a call that was given up before it was sent.
func unsent(ctx context.Context) error { return fmt.Errorf("%w: %w", ErrDown, ctx.Err()) }

// classify returns err as one of the classes of [Transport], with what was behind it.
// What it does not know may have been executed.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var down *downError
	if errors.As(err, &down) {
		return down
	}
	if said, ok := rueidis.IsRedisErr(err); ok {
		return fmt.Errorf("%w: %s", classOf(said.Error()), said.Error())
	}
	if errors.Is(err, rueidis.ErrNoSlot) {
		return fmt.Errorf("%w: %w", ErrMoved, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// classOf tells from the first word of an error reply what the server meant. A script
// that fails at one of its commands has executed those before: sync.lua orders its
// writes such that this loses nothing.
func classOf(said string) error {
	said = strings.TrimPrefix(said, "ERR ") // the client cuts it off too
	if strings.HasPrefix(said, "Error running script") {
		// Before Redis 7 a script's error has the command's own inside.
		if _, inner, ok := strings.Cut(said, ": -"); ok {
			said = inner
		}
	}
	word, _, _ := strings.Cut(said, " ")
	switch word {
	case "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN":
		return ErrMoved
	case "READONLY":
		return ErrReadOnly
	case "LOADING", "BUSY", "OOM", "MASTERDOWN", "NOREPLICAS", "MISCONF":
		return ErrBusy
	}
	if strings.HasPrefix(said, "max number of clients") {
		return ErrBusy
	}
	return ErrRefused
}
