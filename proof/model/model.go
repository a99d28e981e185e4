// Package model holds the protocols of the table, and of budgets shared through Redis,
// as models for spin. Command proof/cmd/model checks them; correspondence.txt says which
// code they stand for, and package proof/correspond holds them to it.
package model

import "embed"

// Files are the models: slot.pml, which includes state, taker, two and evictor;
// refund.pml; change.pml and bring.pml, which include plans; ring.pml, which
// includes ringstate; redisync.pml and redisynclease.pml.
//
//go:embed *.pml
var Files embed.FS
