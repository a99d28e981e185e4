package pgtest

import "syscall"

// dieWithParent makes the server end when the test binary does, however that ends: a
// test that runs into its time limit calls no cleanup.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = signalKill }
