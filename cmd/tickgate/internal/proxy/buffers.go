package proxy

import "sync"

// buffers lends what answers are copied through.
type buffers struct{ free sync.Pool }

const bufferSize = 32 << 10

// Get lends a buffer.
func (b *buffers) Get() []byte {
	if lent, ok := b.free.Get().(*[bufferSize]byte); ok {
		return lent[:]
	}
	return make([]byte, bufferSize)
}

// Put takes one back.
func (b *buffers) Put(lent []byte) { b.free.Put((*[bufferSize]byte)(lent)) }
