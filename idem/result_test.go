package idem

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResultEncoding(t *testing.T) {
	for _, r := range []Result{
		{},
		{Status: 200},
		{Status: -1},
		{Status: 202, Body: []byte("{}")},
		{Status: 302, Header: [][2]string{{"Location", "/jobs/1"}, {"", ""}, {"\x00", "\r\n"}}},
		{Status: 500, Header: [][2]string{{"A", string(make([]byte, 300))}}, Body: make([]byte, 70_000)},
	} {
		b := r.encode()
		require.Equal(t, len(b), cap(b), "it is reckoned at what it takes")
		got, err := decodeResult(b)
		require.NoError(t, err)
		require.Equal(t, r, got)
		if len(r.Body) > 0 {
			continue // any cut of a body is a body
		}
		for n := range b {
			_, err := decodeResult(b[:n])
			require.ErrorIs(t, err, errEncoding, "cut to %d of %d", n, len(b))
		}
	}
	for _, b := range [][]byte{
		{}, {0}, {2, 0, 0}, {1}, {1, 0},
		{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		{1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1}, // more pairs than bytes
		{1, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, // a name longer than all of it
	} {
		_, err := decodeResult(b)
		require.ErrorIs(t, err, errEncoding, "%x", b)
	}
}

func FuzzResultEncoding(f *testing.F) {
	f.Add(aResult().encode())
	f.Add([]byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeResult(b)
		if err != nil {
			return
		}
		again, err := decodeResult(r.encode())
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

func aResult() *Result {
	return &Result{Status: 202, Header: [][2]string{{"Content-Type", "text/plain"}}, Body: []byte("x")}
}
