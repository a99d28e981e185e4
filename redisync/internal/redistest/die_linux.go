package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the server end when the test binary does, however that
// ends: a test that runs into its time limit calls no cleanup.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
