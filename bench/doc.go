// Package bench holds the speed measurements of tickgate: the floor of the
// machine, every path of the limiter, and other limiters on the same keys.
//
// It has no API. The benchmarks are in the test files; cmd/report runs all of them
// and writes a report, cmd/table turns their output into one table of ratios, and
// cmd/memory measures bytes per key and the cost of a garbage collection in a
// process of its own. README.md says how the figures are taken and how to read
// them.
//
// It is a module of its own so that the other limiters never become
// requirements of tickgate.
package bench
