// Package admitted judges what was admitted, by whomever and however many: from when
// each call began and ended it says by how much a limit was exceeded at the most, and
// by how much for sure. It is for tests of services that share budgets; it knows
// nothing of how these are shared.
package admitted
