package redistest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken below those that the system hands out itself, so that no
// outgoing connection can sit on one, and so that a cluster's bus, 10,000
// above, fits too.
const (
	lowPort  = 11000
	highPort = 21000
	busPort  = 10000
)

// freePort returns a port that nobody listens on, and neither on its bus port.
func freePort(t T) int {
	t.Helper()
	for range 500 {
		port := lowPort + rand.IntN(highPort-lowPort)
		if canListen(port) && canListen(port+busPort) {
			return port
		}
	}
	t.Fatalf("no free port from %d to %d", lowPort, highPort)
	return 0
}

func canListen(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
