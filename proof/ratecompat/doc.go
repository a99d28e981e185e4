// Package ratecompat holds the limiter of the root module's ratecompat against
// the one whose methods it has, golang.org/x/time/rate, which the root module does
// not require.
//
// The tests play random scripts to both, with times that go forward. Where times
// are multiples of 1/64 s and rates powers of two up to 8, floats lose nothing, and
// both must agree to the last bit. At other rates they may differ by what floats
// lose; script.tolerance says how much that is. What is meant to be different is
// tested to be different, for both.
package ratecompat
