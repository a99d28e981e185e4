package idem

// Token is the right to complete a key: who holds it, and since which turn. It is
// comparable; the zero Token holds nothing. Only a [Backend] makes tokens.
type Token struct {
	key   Key
	owner uint64
	fence uint64
}

// NewToken returns a token for key. It is for backends: owner tells apart the
// backends, processes or lives of one that could give the same fence, and fence
// must be higher, for one key, than in any token before.
func NewToken(key Key, owner, fence uint64) Token {
	return Token{key: key, owner: owner, fence: fence}
}

// Key returns the key that the token was given for.
func (t Token) Key() Key { return t.key }

// Owner returns what the backend put there to tell its tokens from others'.
func (t Token) Owner() uint64 { return t.owner }

// Fence returns a number that grows each time the key is given to a new owner. A
// system that takes effect can refuse an owner whose lease ran out by refusing
// fences lower than one it has seen for the key. With the backend in memory it
// starts again with the process.
func (t Token) Fence() uint64 { return t.fence }
