//go:build linux

package faults

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestMessagesAreCutWhereTheyEnd(t *testing.T) {
	messages := []string{
		"*3\r\n$7\r\nEVALSHA\r\n$3\r\nabc\r\n$1\r\n1\r\n",
		"*1\r\n$4\r\nPING\r\n",
		"+OK\r\n", "-NOSCRIPT No matching script.\r\n", ":-12\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123456789012345678901\r\n",
		"$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n", "$6\r\na\r\n*1\n\r\n", "=7\r\ntxt:abc\r\n", "!5\r\nERR x\r\n",
		"*3\r\n:1\r\n*2\r\n+a\r\n$-1\r\n:2\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n", ">2\r\n+pubsub\r\n+x\r\n",
		"|1\r\n+ttl\r\n:3\r\n$1\r\nv\r\n",
		"+" + strings.Repeat("x", 10_000) + "\r\n",
	}
	r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(strings.Join(messages, ""))), 64)
	for _, want := range messages {
		got, err := readMessage(r, nil)
		require.NoError(t, err, "%.40q", want)
		require.Equal(t, want, string(got))
	}
	_, err := readMessage(r, nil)
	require.Equal(t, io.EOF, err)
}

func TestMessagesThatAreNone(t *testing.T) {
	for _, bad := range []string{
		"PING\r\n", "*x\r\n", "$-2\r\n", "\r\n", "+a\n", "$99999999999\r\n", "*2147483648\r\n", "$?\r\n",
		strings.Repeat("*1\r\n", 50) + ":1\r\n",
	} {
		_, err := readMessage(bufio.NewReader(strings.NewReader(bad)), nil)
		require.ErrorIs(t, err, errFrame, "%.40q", bad)
	}
	for _, short := range []string{"*2\r\n:1\r\n", "$5\r\nab", "+O", "*1\r\n"} {
		_, err := readMessage(bufio.NewReader(strings.NewReader(short)), nil)
		require.True(t, errors.Is(err, io.ErrUnexpectedEOF), "%q: %v", short, err)
	}
}

func TestCommandIsTheFirstWord(t *testing.T) {
	require.Equal(t, "EVALSHA", command([]byte("*2\r\n$7\r\nevalsha\r\n$1\r\nx\r\n")))
	require.Equal(t, "", command([]byte("+OK\r\n")))
	require.Equal(t, "", command([]byte("*0\r\n")))
	require.Equal(t, "", command(nil))
	require.True(t, isPush([]byte(">1\r\n:1\r\n")))
	require.False(t, isPush([]byte("+OK\r\n")))
}
