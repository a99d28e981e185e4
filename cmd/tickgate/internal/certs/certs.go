// Package certs reads certificates and keys for TLS, of version 1.2 or later.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"
)

// Oldest is the oldest version of TLS that is spoken.
const Oldest = tls.VersionTLS12

// Server returns what a server needs to speak TLS: the certificate in certFile, with
// the chain behind it, and its key in keyFile, both PEM. With a clientCA, a file of
// certificates, clients must show one that is signed by one of them.
func Server(certFile, keyFile, clientCA string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", certFile, keyFile, err)
	}
	c := &tls.Config{MinVersion: Oldest, Certificates: []tls.Certificate{pair}}
	if clientCA != "" {
		if c.ClientCAs, err = Pool(clientCA); err != nil {
			return nil, err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// Outdated says why clients will refuse the certificate of a server at a time: it has
// expired, or is not valid yet. It returns "" of one that is valid then.
func Outdated(c *tls.Config, now time.Time) string {
	leaf := c.Certificates[0].Leaf
	switch {
	case leaf == nil:
		return "" // only where the runtime was told not to keep it
	case now.After(leaf.NotAfter):
		return "it expired on " + leaf.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(leaf.NotBefore):
		return "it is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339)
	}
	return ""
}

// Pool reads a PEM file of one or more certificates to be trusted.
func Pool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: holds no certificate in PEM form", file)
	}
	return pool, nil
}
