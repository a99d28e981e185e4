// Package model holds the protocol of the table as models for spin. Command
// proof/cmd/model checks them.
package model

import "embed"

// Files are the models: slot.pml, which includes state, taker, two and evictor;
// refund.pml; and change.pml and bring.pml, which include plans.
//
//go:embed *.pml
var Files embed.FS
