package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate/idem"
)

// Store is what an Idempotency needs of an [idem.Store]. An error of Begin that is an
// [*Error] is the answer as it is: a store of your own may refuse for reasons of its own.
type Store interface {
	Begin(ctx context.Context, key idem.Key, fingerprint idem.Fingerprint) (idem.Claim, error)
	Complete(ctx context.Context, token idem.Token, result idem.Result) error
	Release(ctx context.Context, token idem.Token) error
	Extend(ctx context.Context, token idem.Token) error
}

// MissingID says what happens to a request that has no idempotency key.
type MissingID uint8

const (
	// RequireID answers it with 400.
	RequireID MissingID = iota

	// HashContent takes the SHA-256 of what it says for its key: method, path, query
	// and body. The same request again is then a retry.
	HashContent

	// PassThrough hands it on: it is not protected.
	PassThrough
)

// The defaults of an IdempotencyConfig.
const (
	DefaultMaxBody     = 1 << 20
	DefaultMaxResult   = 1 << 20
	DefaultExtendEvery = 10 * time.Second
)

// IdempotencyConfig says what an Idempotency is made of.
type IdempotencyConfig struct {
	// Store keeps what is under way and the results.
	Store Store

	// Scope names whose keys they are: the same key of two callers is two keys. A
	// request that names nobody is answered with 401.
	Scope KeyFunc

	// Endpoint names the operation: the same key at two endpoints is two keys. nil:
	// PatternEndpoint.
	Endpoint EndpointFunc

	// Methods are those that are protected; requests of others are handed on. nil:
	// POST and PATCH.
	Methods []string

	// Field is the member of a JSON body that holds the key, such as "ingest_id".
	// It goes before the header Idempotency-Key. Bodies must be JSON objects then, or
	// empty, and in no content coding, whatever their Content-Type says. "": only the
	// header.
	Field string

	// Missing says what happens when there is no key. Zero: RequireID.
	Missing MissingID

	// MaxBody is the longest body of a request, in bytes; a longer one is answered
	// with 413. The body is read before the handler runs, which sees all of it. How
	// long that may take is for the server's ReadTimeout. 0: DefaultMaxBody.
	MaxBody int64

	// MaxResult is the longest body of a response that is kept, in bytes. A longer
	// one is sent, but its retry is answered with 409: what it did is done, and
	// cannot be shown again. So is that of a result which the store has no room for.
	// 0: DefaultMaxResult.
	MaxResult int

	// Headers are those that are kept with a result. nil: DefaultHeaders. See
	// CheckHeader for what cannot be one.
	Headers []string

	// KeepServerErrors keeps 5xx and panics as results too. Without it a retry runs
	// the handler again.
	KeepServerErrors bool

	// ExtendEvery is how often the claim of a running handler is extended, which must
	// be less than the store's lease. 0: a third of that, as the store's method Lease
	// tells it, and DefaultExtendEvery if it has none.
	ExtendEvery time.Duration

	// Timer runs the extensions. nil: time.AfterFunc.
	Timer TimerFunc

	// Error answers what the handler is not run for, and is not replayed. nil:
	// WriteError.
	Error ErrorHandler

	// Report is told what went wrong after a handler ran, when its response is on
	// the way already. nil: nobody is.
	Report func(r *http.Request, err error)
}

// DefaultHeaders returns the headers that are kept with a result unless told otherwise:
// those that describe the body, Location, Link, Cache-Control, Retry-After, and those
// without which a browser keeps an answer from the page that asked: Vary and
// Access-Control-*.
func DefaultHeaders() []string {
	return []string{
		"Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
		"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
		"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location",
		"Content-Type", "Etag", "Last-Modified", "Link", "Location", "Retry-After", "Vary",
	}
}

// ownHeaders are of one response or of one connection, and not of the result.
var ownHeaders = []string{
	"Set-Cookie", "Set-Cookie2", "Connection", "Content-Length", "Date", "Keep-Alive", "Proxy-Authenticate",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	headerPolicy, headerLimit, headerXLimit, headerXLeft, headerXReset, headerReplayed,
}

// Idempotency runs a handler once for each key. Make one with [NewIdempotency].
type Idempotency struct{ cfg IdempotencyConfig }

// NewIdempotency makes an Idempotency. It reports every fault of the configuration at
// once, each a [*tickgate.ConfigError].
func NewIdempotency(cfg IdempotencyConfig) (*Idempotency, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Idempotency{cfg}, nil
}

// check completes a configuration and reports every fault of it.
func (c *IdempotencyConfig) check() error {
	var f faults
	if c.Store == nil {
		f.add("Store", "nil", "must be a store of idem.NewStore")
	}
	if c.Scope == nil {
		f.add("Scope", "nil", "must name the caller that was authenticated, as keys of different callers must not meet")
	}
	if c.Missing > PassThrough {
		f.add("Missing", strconv.Itoa(int(c.Missing)), "must be RequireID, HashContent or PassThrough")
	}
	if c.MaxBody < 0 {
		f.add("MaxBody", strconv.FormatInt(c.MaxBody, 10), "must be above zero, or 0 for 1 MiB")
	}
	if c.MaxResult < 0 {
		f.add("MaxResult", strconv.Itoa(c.MaxResult), "must be above zero, or 0 for 1 MiB")
	}
	c.checkExtension(&f)
	if c.Methods == nil {
		c.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	c.checkHeaders(&f)
	c.complete()
	return f.err()
}

func (c *IdempotencyConfig) checkHeaders(f *faults) {
	if c.Headers == nil {
		c.Headers = DefaultHeaders()
	}
	c.Headers = slices.Clone(c.Headers)
	for i, name := range c.Headers {
		c.Headers[i] = textproto.CanonicalMIMEHeaderKey(name)
		if err := CheckHeader(name); err != nil {
			f.add(fmt.Sprintf("Headers[%d]", i), name, err.Error())
		}
	}
	slices.Sort(c.Headers)
	c.Headers = slices.Compact(c.Headers)
}

// CheckHeader says why a header cannot be kept with a result: it is no name of one, or it
// belongs to one response, or one connection, alone, as Set-Cookie and the headers about
// limits do. It returns nil of one that can.
func CheckHeader(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, " \t\r\n:"):
		return errors.New("must be the name of a header")
	case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		return errors.New("must not be kept: it belongs to one response, or one connection, alone")
	}
	return nil
}

func (c *IdempotencyConfig) checkExtension(f *faults) {
	lease := 3 * DefaultExtendEvery
	if s, ok := c.Store.(interface{ Lease() time.Duration }); ok {
		lease = s.Lease()
	}
	if c.ExtendEvery < 0 || c.ExtendEvery >= lease {
		f.add("ExtendEvery", c.ExtendEvery.String(), "must be above zero and less than the store's lease of "+lease.String()+", or 0 for a third of that")
	}
	if c.ExtendEvery == 0 {
		c.ExtendEvery = max(lease/3, 1)
	}
}

func (c *IdempotencyConfig) complete() {
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxResult == 0 {
		c.MaxResult = DefaultMaxResult
	}
	if c.Endpoint == nil {
		c.Endpoint = PatternEndpoint
	}
	if c.Timer == nil {
		c.Timer = systemTimer
	}
	if c.Error == nil {
		c.Error = WriteError
	}
	if c.Report == nil {
		c.Report = func(*http.Request, error) {}
	}
}
