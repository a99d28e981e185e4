package redisync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

func TestErrorsHaveOneClass(t *testing.T) {
	for said, class := range map[string]error{
		"MOVED 3999 127.0.0.1:6381":                               ErrMoved,
		"ASK 3999 127.0.0.1:6381":                                 ErrMoved,
		"TRYAGAIN Multiple keys":                                  ErrMoved,
		"CLUSTERDOWN Hash slot":                                   ErrMoved,
		"READONLY You can't write against a read only replica.":   ErrReadOnly,
		"LOADING Redis is loading the dataset in memory":          ErrBusy,
		"BUSY Redis is busy running a script.":                    ErrBusy,
		"OOM command not allowed when used memory > 'maxmemory'.": ErrBusy,
		"NOREPLICAS Not enough good replicas to write.":           ErrBusy,
		"MISCONF Redis is configured to save RDB snapshots":       ErrBusy,
		"MASTERDOWN Link with MASTER is down":                     ErrBusy,
		"ERR max number of clients reached":                       ErrBusy,
		"max number of clients reached":                           ErrBusy,
		"NOPERM this user has no permissions":                     ErrRefused,
		"WRONGTYPE Operation against a key":                       ErrRefused,
		"ERR unknown command":                                     ErrRefused,
		"Error running script (call to f_1): @user_script:9: @user_script: 9: -OOM command not allowed":      ErrBusy,
		"ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -READONLY You can't write": ErrReadOnly,
	} {
		require.Equal(t, class, classOf(said), said)
	}
	for err, class := range map[error]error{
		context.DeadlineExceeded:  ErrUnknown,
		io.EOF:                    ErrUnknown,
		rueidis.ErrClosing:        ErrUnknown,
		rueidis.ErrNoSlot:         ErrMoved,
		&downError{"h:1", io.EOF}: ErrDown,
		fmt.Errorf("x: %w", &downError{addr: "h:1"}): ErrDown,
	} {
		got := classify(err)
		n := 0
		for _, c := range []error{ErrUnknown, ErrDown, ErrMoved, ErrReadOnly, ErrBusy, ErrRefused} {
			if errors.Is(got, c) {
				require.Equal(t, class, c, err)
				n++
			}
		}
		require.Equal(t, 1, n, err)
	}
	require.NoError(t, classify(nil))
}
