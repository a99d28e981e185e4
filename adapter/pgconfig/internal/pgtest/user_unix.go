//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

const (
	signalStop = syscall.SIGINT  // breaks connections, writes everything, ends
	signalKill = syscall.SIGQUIT // ends at once; the next start recovers
)

// as is who servers run as; the zero value is who runs the tests.
type as struct {
	other    bool
	uid, gid uint32
}

// unprivileged returns another user if the tests run as root.
func unprivileged() (as, error) {
	if os.Geteuid() != 0 {
		return as{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return as{true, uint32(uid), uint32(gid)}, nil
		}
	}
	return as{}, fmt.Errorf("there is no user postgres or nobody to run it as, and it refuses root")
}

func (a as) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

func (a as) run(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	dieWithParent(cmd.SysProcAttr)
	if a.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
}
