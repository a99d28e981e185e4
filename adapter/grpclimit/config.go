package grpclimit

import (
	"context"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/tickgate/tickgate"
)

// DefaultDomain is the domain in ErrorInfo unless the configuration has another.
const DefaultDomain = "tickgate"

// KeyFunc says who calls: the apikey of the authenticated caller, 1 to 256 bytes. req
// is the request of a unary call, nil at the opening of a stream, and the message
// where messages are limited. An error that carries a gRPC status (status.Error) is
// the call's answer as it is; any other error, and an empty key, is a [Fault]. It is
// called by many goroutines at once.
type KeyFunc func(ctx context.Context, fullMethod string, req any) (string, error)

// CostFunc says how many tokens a call costs. 0 lets it pass without asking for its
// key or the gate: health checks, say, or cancels. A negative cost is a [Fault] with
// the code INVALID_ARGUMENT. req is as in [KeyFunc].
type CostFunc func(ctx context.Context, fullMethod string, req any) int64

// EndpointFunc names the endpoint, 1 to 256 bytes, that a call counts at. what is 0
// for a unary call and the opening of a stream, [Received] or [Sent] for a message. It
// must return few different names, since each is a key for each caller: where
// the server has an unknown-service handler, callers choose the method's name.
type EndpointFunc func(fullMethod string, what Messages) string

// FaultFunc chooses what becomes of a call that could not be decided: the returned
// error is its answer, nil lets it pass. It is where faults can be logged.
type FaultFunc func(ctx context.Context, f *Fault) error

// Messages says which messages of a stream are limited, seen from the side that the
// interceptor is on.
type Messages uint8

// The messages of a stream, to be joined with |.
const (
	Received Messages = 1 << iota
	Sent
)

// Config says what is limited and by what. Gate and Key are required.
type Config struct {
	Gate *tickgate.Gate
	Key  KeyFunc

	Cost     CostFunc     // nil: 1
	Endpoint EndpointFunc // nil: the full method
	OnFault  FaultFunc    // nil: FailClosed

	// Messages are the messages of streams that are limited beside the opening. A
	// stream of one request or one response has that as its message.
	Messages Messages

	// Domain is the domain in ErrorInfo: whose limits these are. "": DefaultDomain.
	Domain string

	// Wait makes a client's calls and messages wait for their tokens, first come, first
	// served for each key and endpoint, instead of failing. A call fails at once if the
	// deadline of its context is too near, or if it can never pass. The gate's clock must
	// run as time does. It is an error for a server.
	Wait bool
}

// check returns every fault of c.
func (c *Config) check(server bool) error {
	var faults []error
	fault := func(field, value, reason string) {
		faults = append(faults, &tickgate.ConfigError{Field: field, Value: value, Reason: reason})
	}
	if c.Gate == nil {
		fault("Gate", "nil", "is required")
	}
	if c.Key == nil {
		fault("Key", "nil", "is required: return the authenticated caller, or use MetadataKey or FixedKey")
	}
	if c.Messages&^(Received|Sent) != 0 {
		fault("Messages", strconv.Itoa(int(c.Messages)), "must be Received, Sent, Received|Sent or 0")
	}
	if !utf8.ValidString(c.Domain) {
		fault("Domain", c.Domain, "must be UTF-8: use a name such as orders.example.com")
	}
	if server && c.Wait {
		fault("Wait", "true", "is for clients: a server answers at once")
	}
	return errors.Join(faults...)
}
