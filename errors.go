package tickgate

import (
	"errors"

	"github.com/tickgate/tickgate/policy"
)

// ConfigError is one fault of a configuration. Constructors return all faults at
// once, joined by errors.Join; errors.As finds the first.
type ConfigError = policy.ConfigError

// Errors of [Gate.Handle].
var (
	ErrNoPolicy = errors.New("tickgate: no policy for this endpoint, and none named default")
	ErrFull     = errors.New("tickgate: no room for the key: every key is pinned or the gate rejects new ones when full, or the key has 8190 handles")
	ErrKey      = errors.New("tickgate: apikey and endpoint must have 1 to 256 bytes")
)
