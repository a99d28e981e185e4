package certs

import (
	"crypto/tls"
	"sync/atomic"
	"time"
)

// Live is what a server needs to speak TLS, and may be read again while it serves. Its
// methods may be called by any number of goroutines at once.
type Live struct {
	certFile, keyFile, clientCA string

	now atomic.Pointer[tls.Config] // written by Reload, read by each handshake
}

// Load reads the files that [Server] does.
func Load(certFile, keyFile, clientCA string) (*Live, error) {
	l := &Live{certFile: certFile, keyFile: keyFile, clientCA: clientCA}
	_, err := l.Reload()
	return l, err
}

// Reload reads the files again, for connections that are made from now on, and returns
// until when the certificate is valid. On a fault they go on with what was read before.
func (l *Live) Reload() (version string, err error) {
	c, err := Server(l.certFile, l.keyFile, l.clientCA)
	if err != nil {
		return "", err
	}
	c.NextProtos = []string{"h2", "http/1.1"} // what a server would have added to its own
	l.now.Store(c)
	return l.Version(), nil
}

// Version says until when the certificate is valid.
func (l *Live) Version() string {
	leaf := l.now.Load().Certificates[0].Leaf
	if leaf == nil {
		return "read"
	}
	return "until " + leaf.NotAfter.UTC().Format(time.RFC3339)
}

// Config returns the configuration of a server, whose connections have what was read
// last.
func (l *Live) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         Oldest,
		NextProtos:         []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return l.now.Load(), nil },
	}
}

// Outdated is [Outdated] of what was read last.
func (l *Live) Outdated(now time.Time) string { return Outdated(l.now.Load(), now) }
