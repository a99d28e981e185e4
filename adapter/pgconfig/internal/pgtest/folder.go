package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Password is that of the superuser "postgres" of every server.
const Password = "correct horse"

// template is a data folder that is made once and copied for each server: making one
// takes a second, copying it a twentieth.
var template struct {
	once sync.Once
	path string
	err  error
}

// Run runs the tests of a package and then removes what servers had in common.
func Run(tests func() int) int {
	defer func() {
		if template.path != "" {
			_ = os.RemoveAll(template.path)
		}
	}()
	return tests()
}

// newFolder makes a data folder, in a folder that is to be removed.
func newFolder(p programs, who as) (dir string, err error) {
	template.once.Do(func() { template.path, template.err = initialise(p, who) })
	if template.err != nil {
		return "", template.err
	}
	if dir, err = makeFolder(who); err != nil {
		return "", err
	}
	return dir, copyFolder(filepath.Join(template.path, "data"), filepath.Join(dir, "data"), who)
}

// makeFolder makes an empty folder of the server's user.
func makeFolder(who as) (string, error) {
	dir, err := os.MkdirTemp("", "tickgate-pg-")
	if err != nil {
		return "", err
	}
	return dir, who.own(dir)
}

func initialise(p programs, who as) (string, error) {
	dir, err := makeFolder(who)
	if err != nil {
		return "", err
	}
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(Password), 0o600); err != nil {
		return dir, err
	}
	if err := who.own(secret); err != nil {
		return dir, err
	}
	cmd := exec.Command(p.initdb, "--pgdata="+filepath.Join(dir, "data"), "--username=postgres", "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	cmd.Dir = dir
	who.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return dir, nil
}

// copyFolder copies files and folders with their modes.
func copyFolder(from, to string, who as) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if d.IsDir() {
			err = os.Mkdir(target, info.Mode().Perm())
		} else {
			var text []byte
			if text, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(target, text, info.Mode().Perm())
			}
		}
		if err != nil {
			return err
		}
		return who.own(target)
	})
}
