// Package model holds the protocol of the table as models for spin. Command
// proof/cmd/model checks them.
package model

import "embed"

// Files are the models: slot.pml, which includes state, taker, two and evictor,
// and refund.pml.
//
//go:embed *.pml
var Files embed.FS
