package latency

import "time"

const (
	// loadNodes of nodeBytes are the live heap of the load, 64 MiB: marking it
	// takes tens of milliseconds.
	loadNodes = 1 << 20
	nodeBytes = 64
	// loadStep nodes are replaced every loadPause, at most a gigabyte in a second:
	// with GOGC at 100 the next collection begins soon after the last one.
	loadStep  = 1 << 14
	loadPause = time.Millisecond
	// chain is how many nodes hang together. They are not longer because a node
	// that was replaced stays for as long as its chain.
	chain = 64
)

// node is one object of the heap: small and with pointers, which is what the
// collector has most work with.
type node struct {
	last *node
	_    [nodeBytes - 8]byte
}

// heap is a heap that is replaced over and over, in order.
type heap struct {
	nodes []*node
	at    int
}

func newHeap(n int) *heap {
	h := &heap{nodes: make([]*node, n)}
	h.step(n)
	return h
}

// step replaces n nodes. A new one points to the one before it.
func (h *heap) step(n int) {
	for range n {
		made := new(node)
		if h.at%chain != 0 {
			made.last = h.nodes[h.at-1]
		}
		h.nodes[h.at] = made
		if h.at++; h.at == len(h.nodes) {
			h.at = 0
		}
	}
}

// startLoad keeps the collector busy until the returned function is called,
// which returns when the load has ended.
func startLoad() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		h := newHeap(loadNodes)
		pause := time.NewTicker(loadPause)
		defer pause.Stop()
		for {
			select {
			case <-quit:
				return
			case <-pause.C:
				h.step(loadStep)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
