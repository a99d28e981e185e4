//go:build !unix

package pgtest

import (
	"os"
	"os/exec"
)

var signalStop, signalKill = os.Kill, os.Kill

// as is who servers run as: who runs the tests.
type as struct{}

func unprivileged() (as, error) { return as{}, nil }
func (as) own(string) error     { return nil }
func (as) run(*exec.Cmd)        {}
