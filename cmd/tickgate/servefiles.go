package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
)

// The longest files, in bytes. Policies and Envoy's limits have bounds of their own.
const (
	mostPEM     = 1 << 20
	mostKeyFile = 64 << 20
)

// checkFile returns what keeps a file of a flag from being read: it is no regular one, where
// all links to it are followed, as those of what Kubernetes mounts, or it is too long. To
// open a pipe could block for ever. What is not there is for the reader to tell.
func checkFile(flag, path string, most int64) error {
	info, err := os.Stat(path)
	switch {
	case path == "" || err != nil:
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("--%s %s: is not a regular file; name a file, or a link to one", flag, path)
	case info.Size() > most:
		return fmt.Errorf("--%s %s: has %d bytes; at most %d", flag, path, info.Size(), most)
	}
	return nil
}

// checkPEM is checkFile of the files of TLS.
func (c *serveFlags) checkPEM() error {
	t := &c.TLS
	return errors.Join(checkFile("tls-cert", t.Cert, mostPEM), checkFile("tls-key", t.Key, mostPEM), checkFile("tls-client-ca", t.ClientCA, mostPEM))
}

// readKeys reads the file of --keys.
func (c *serveFlags) readKeys() (caller.Accepted, error) {
	if err := checkFile("keys", c.Keys, mostKeyFile); err != nil {
		return nil, err
	}
	accepted, err := caller.Load(c.Keys)
	if err != nil {
		return nil, fmt.Errorf("--keys: %w", err)
	}
	return accepted, nil
}
