// Package model holds the protocol of the table as models for spin. Command
// proof/cmd/model checks them.
package model

import "embed"

// Files are the models: slot.pml, which includes state, taker, two and evictor;
// refund.pml; change.pml and bring.pml, which include plans; and ring.pml, which
// includes ringstate.
//
//go:embed *.pml
var Files embed.FS
