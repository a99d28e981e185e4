package redisync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tickgate/tickgate/idem"
)

// NewIdem makes a backend, and asks Redis whether it can be one: it must be there,
// run scripts, and not drop keys when its memory is full. It returns every fault of
// cfg at once. ctx bounds the start only.
func NewIdem(ctx context.Context, cfg IdemConfig) (*Idem, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	b := &Idem{
		client: cfg.Client, script: &idemScript{script: newScript(idemSource)},
		prefix: cfg.Prefix + ":", timeout: cfg.Timeout, maxValue: cfg.MaxValue,
		attempts: make(chan struct{}, maxIdemAttempts),
	}
	if b.client == nil {
		l, err := dialIdem(ctx, cfg.URL)
		if err != nil {
			return nil, err
		}
		b.client, b.own = l.client, &l
	}
	b.undo = newUndoer(b.sendUndo)
	if err := b.probe(ctx, cfg); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// dialIdem makes connections for an Idem alone: a large result there is in nobody's
// way.
func dialIdem(ctx context.Context, url string) (line, error) {
	a, err := parseURL(url)
	if err != nil {
		return line{}, err
	}
	servers, err := a.survey(ctx, newDialer(a, false))
	if err != nil {
		return line{}, err
	}
	return connect(ctx, a, servers, false)
}

// check completes a configuration and reports every fault of it.
func (c *IdemConfig) check() error {
	if c.Prefix == "" {
		c.Prefix = DefaultIdemPrefix
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultIdemTimeout
	}
	if c.MaxValue == 0 {
		c.MaxValue = DefaultIdemMaxValue
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("redisync: "+format, args...))
	}
	if (c.URL == "") == (c.Client == nil) {
		fault("IdemConfig needs one of URL and Client")
	}
	if len(c.Prefix) > maxIdemPrefix {
		fault("Prefix of %d bytes: must be up to %d", len(c.Prefix), maxIdemPrefix)
	}
	if strings.ContainsAny(c.Prefix, "{}") {
		// They would put all records on one node of a cluster.
		fault("Prefix = %q: must be without braces", c.Prefix)
	}
	if c.Timeout < minIdemTimeout || c.Timeout > maxIdemTimeout {
		fault("Timeout = %v: must be %v to %v, or 0 for %v", c.Timeout, minIdemTimeout, maxIdemTimeout, DefaultIdemTimeout)
	}
	if c.MaxValue < 1 || c.MaxValue > maxIdemValue {
		fault("MaxValue = %d: must be 1 to %d, or 0 for %d", c.MaxValue, maxIdemValue, DefaultIdemMaxValue)
	}
	return errors.Join(faults...)
}

// probe makes one call that changes nothing, and looks at how the servers deal with
// full memory.
func (b *Idem) probe(ctx context.Context, cfg IdemConfig) error {
	if err := b.Extend(ctx, idem.Token{}, time.Second); !errors.Is(err, idem.ErrLost) {
		return err
	}
	if cfg.AllowEviction {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	for addr, node := range b.client.Nodes() {
		info, err := node.Do(ctx, node.B().Info().Section("memory").Build()).ToString()
		if err != nil {
			cfg.Log.Warn("redisync: cannot see whether this Redis drops keys when its memory is full; set maxmemory-policy to noeviction",
				"addr", addr, "error", err)
			continue
		}
		if policy := infoField(info, "maxmemory_policy"); policy != "" && policy != "noeviction" && infoField(info, "maxmemory") != "0" {
			return errors.New("redisync: Redis " + addr + " has maxmemory-policy " + policy +
				", so it may drop idempotency records, and their work be done twice; set noeviction, or AllowEviction")
		}
	}
	return nil
}

// infoField is a field of what INFO returns, "" if it is not there.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// sendUndo undoes a Begin, and reports whether that was answered.
func (b *Idem) sendUndo(ctx context.Context, key idem.Key, owner uint64, lease time.Duration) bool {
	_, err := b.call(ctx, "undoing Begin", key, []string{"u", hex64(owner), micros(lease)})
	return err == nil
}
