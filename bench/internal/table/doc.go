// Package table reads the output of the benchmarks of this module and makes one
// answer of it: every figure beside the floor of the same machine, beside the
// fastest peer on the same keys, and beside its target; what a key costs in
// memory; and where a peer is ahead. The answer is written as text or as
// Markdown, or taken apart by whoever writes it otherwise.
//
// A name such as Gate/path=handle/clock=tsc/keys=1/outcome=allow/g=1 is that of
// the benchmark without "Benchmark" and without the suffix of GOMAXPROCS.
package table
