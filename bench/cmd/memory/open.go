package main

import (
	"fmt"
	"io"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/bench/internal/peer"
	"github.com/tickgate/tickgate/policy"
)

// endpoint is the endpoint of every key.
const endpoint = "order.new"

// open returns an empty limiter of that name, in which a key has one token a
// day. The closer is never nil when the error is.
func open(name string, keys, room int) (allowFunc, io.Closer, error) {
	if name == "tickgate" {
		return openGate(room)
	}
	lib, ok := peer.Find(name)
	if !ok || !lib.Keyed {
		return nil, nil, fmt.Errorf("no keyed limiter is named %q", name)
	}
	p, err := lib.New(load.Deny, keys)
	if err != nil {
		return nil, nil, err
	}
	if c, ok := p.(io.Closer); ok {
		return p.Allow, c, nil
	}
	return p.Allow, io.NopCloser(nil), nil
}

func openGate(room int) (allowFunc, io.Closer, error) {
	l := load.Deny
	g, err := tickgate.New(tickgate.Config{
		MaxKeys: room,
		Policies: policy.Set{{
			Endpoint: endpoint,
			Limits:   []policy.Limit{{Name: "rate", Tokens: l.Tokens, Per: l.Per, Burst: l.Burst}},
		}},
	})
	if err != nil {
		return nil, nil, err
	}
	return func(key string) bool { return g.Allow(key, endpoint) }, g, nil
}
