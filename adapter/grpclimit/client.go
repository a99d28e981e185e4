package grpclimit

import (
	"context"

	"google.golang.org/grpc"
)

// Client limits the calls that a client makes. Its methods Unary and Stream are the
// interceptors. It is for any number of goroutines, and follows tickgate.Gate.Apply.
type Client struct{ l *limiter }

// NewClient reports every fault of the configuration at once, each a
// tickgate.ConfigError.
func NewClient(cfg Config) (*Client, error) {
	if err := cfg.check(false); err != nil {
		return nil, err
	}
	return &Client{newLimiter(&cfg)}, nil
}

// Unary is a grpc.UnaryClientInterceptor. A denied call is not sent: it fails with a
// *[Denied], or waits.
func (c *Client) Unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if err := c.l.admit(ctx, method, req, 0); err != nil {
		return err
	}
	return invoker(ctx, method, req, reply, cc, opts...)
}

// Stream is a grpc.StreamClientInterceptor. A stream that is denied at its opening is
// not opened. A message that is denied ends the stream: it is cancelled, and SendMsg
// and RecvMsg return the *[Denied] from then on. One who would rather go on sets
// Config.Wait.
func (c *Client) Stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if err := c.l.admit(ctx, method, nil, 0); err != nil {
		return nil, err
	}
	if c.l.messages == 0 {
		return streamer(ctx, desc, cc, method, opts...)
	}
	ctx, cancel := context.WithCancel(ctx)
	cs, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &clientStream{ClientStream: cs, ctx: ctx, cancel: cancel, l: c.l, method: method, many: desc.ServerStreams}, nil
}
