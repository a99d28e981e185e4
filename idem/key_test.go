package idem

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// digest is the definition, on its own.
func digest(parts ...any) [32]byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			_ = binary.Write(&b, binary.BigEndian, uint64(p))
		case string:
			b.WriteString(p)
		}
	}
	return sha256.Sum256(b.Bytes())
}

func TestKeyOf(t *testing.T) {
	require.EqualValues(t, digest(5, "alice", 12, "POST /orders", 2, "k1"), KeyOf("alice", "POST /orders", "k1"))
	require.EqualValues(t, digest(0, 0, 0), KeyOf("", "", ""))
	long := strings.Repeat("x", 10_000)
	require.EqualValues(t, digest(10_000, long, 1, "\x00", 2, "\r\n"), KeyOf(long, "\x00", "\r\n"))
	require.Len(t, KeyOf("", "", "").String(), 64)

	// What joins to the same text is another key all the same.
	seen := map[Key]bool{}
	for _, p := range [][3]string{
		{"ab", "c", ""}, {"a", "bc", ""}, {"", "abc", ""}, {"abc", "", ""}, {"", "", "abc"}, {"a", "b", "c"},
		{"\x00\x00", "", ""}, {"\x00", "\x00", ""}, {"a\x00", "b", ""}, {"a", "\x00b", ""},
	} {
		k := KeyOf(p[0], p[1], p[2])
		require.False(t, seen[k], "%q", p)
		seen[k] = true
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { KeyOf("alice", "POST /orders", "8e03978e-40d5-43e8-bc93-6894a57f9324") }))
}

func TestFingerprintOf(t *testing.T) {
	require.EqualValues(t, digest(4, "POST", 7, "/orders", 3, "a=1", "body", 4),
		FingerprintOf("POST", "/orders", "a=1", []byte("body")))
	require.EqualValues(t, digest(4, "POST", 0, 0, 0), FingerprintOf("POST", "", "", nil))
	seen := map[Fingerprint]bool{}
	for _, p := range [][4]string{
		{"a", "b", "c", "d"}, {"ab", "", "c", "d"}, {"a", "b", "cd", ""}, {"a", "b", "", "cd"}, {"a", "bc", "", "d"},
		{"", "", "", "abcd"}, {"a", "b", "c", "d\x00\x00\x00\x00\x00\x00\x00\x01"},
	} {
		f := FingerprintOf(p[0], p[1], p[2], []byte(p[3]))
		require.False(t, seen[f], "%q", p)
		seen[f] = true
	}
	require.Len(t, Fingerprint{}.String(), 64)
}

func TestHasherStreams(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), 1000)
	want := FingerprintOf("POST", "/orders", "", body)
	for _, step := range []int{1, 7, 64, 4096, len(body)} {
		h := NewHasher()
		h.Part("POST")
		h.Part("/orders")
		h.Part("")
		for rest := body; len(rest) > 0; {
			n, err := h.Write(rest[:min(step, len(rest))])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.Equal(t, want, h.Sum(), "in steps of %d", step)
	}
}

// A part after a Write is a streamed one: its length follows it, and so does that
// of the one before.
func TestHasherPartAfterWrite(t *testing.T) {
	h := NewHasher()
	h.Part("p")
	_, _ = h.Write([]byte("abc"))
	h.Part("de")
	require.EqualValues(t, digest(1, "p", "abc", 3, "de", 2), h.Sum())
}
